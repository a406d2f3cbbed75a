#include "kb-opt/LLM/StructuredReply.h"
#include "TestModels.h"
#include "kb-opt/LLM/JsonSchema.h"
#include "gtest/gtest.h"

using namespace kbopt;
namespace json = llvm::json;

static json::Value parsed(llvm::StringRef text) { return llvm::cantFail(json::parse(text)); }

static const char *const editSchema =
    R"({"type":"object","required":["edits"],"additionalProperties":false,
  "properties":{"summary":{"type":"string","maxLength":20},
    "edits":{"type":"array","minItems":1,"items":{"type":"object","required":["anchor","text"],
      "properties":{"anchor":{"type":"string","pattern":"^a[0-9]+$"},"text":{"type":"string"}}}}}})";

struct Misfit {
  const char *value, *finding;
};
class SchemaMisfit : public testing::TestWithParam<Misfit> {};
TEST_P(SchemaMisfit, NamesThePath) {
  EXPECT_EQ(mismatch(parsed(GetParam().value), parsed(editSchema)).value_or("fits"),
            GetParam().finding);
}
INSTANTIATE_TEST_SUITE_P(
    Schema, SchemaMisfit,
    testing::Values(
        Misfit{R"({"edits":[{"anchor":"a1","text":"x"}]})", "fits"},
        Misfit{R"([])", "$: expected an object, got []"}, Misfit{R"({})", "$: lacks 'edits'"},
        Misfit{R"({"edits":[]})", "$.edits: expected at least 1 items, got 0"},
        Misfit{R"({"edits":[{"anchor":"a1","text":"x"},{"anchor":"a1","text":7}]})",
               "$.edits[1].text: expected a string, got 7"},
        Misfit{R"({"edits":[{"anchor":"b","text":"x"}]})",
               "$.edits[0].anchor: \"b\" does not match ^a[0-9]+$"},
        Misfit{R"({"edits":[{"anchor":"a1"}]})", "$.edits[0]: lacks 'text'"},
        Misfit{R"({"edits":[{"anchor":"a1","text":"x"}],"why":1})",
               "$: unknown 'why'; there are edits, summary"},
        Misfit{R"({"edits":null})", "$.edits: expected an array, got null"},
        Misfit{R"({"edits":[{"anchor":"a1","text":"x"}],"summary":"äöüäöüäöüäöüäöüäöüäöü"})",
               "$.summary: expected at most 20 characters, got 21"}));

TEST(Schema, NumbersChoicesAndAlternatives) {
  auto finding = [](const char *value, const char *schema) {
    return mismatch(parsed(value), parsed(schema)).value_or("fits");
  };
  EXPECT_EQ(finding("1.5", R"({"type":"integer"})"), "$: expected an integer, got 1.5");
  EXPECT_EQ(finding("2.0", R"({"type":"integer"})"), "fits");
  EXPECT_EQ(finding("11", R"({"minimum":0,"maximum":10})"), "$: expected at most 10, got 11");
  EXPECT_EQ(finding("\"c\"", R"({"enum":["a","b"]})"),
            "$: expected one of \"a\", \"b\", got \"c\"");
  EXPECT_EQ(finding("\"c\"", R"({"type":["integer","null"]})"),
            "$: expected an integer or null, got \"c\"");
  EXPECT_EQ(finding("2", R"({"const":3})"), "$: expected 3, got 2");
  EXPECT_EQ(finding(R"({"k":{"x":"1"}})",
                    R"({"additionalProperties":{"additionalProperties":{"type":"number"}}})"),
            "$.k.x: expected a number, got \"1\"");
  const char *any =
      R"({"anyOf":[{"type":"string"},{"type":"object","properties":{"n":{"type":"integer"}}}]})";
  EXPECT_EQ(finding("\"x\"", any), "fits");
  EXPECT_EQ(finding(R"({"n":"x"})", any), "$.n: expected an integer, got \"x\"")
      << "the alternative that comes farthest";
}

TEST(Schema, AFormForPeople) {
  EXPECT_EQ(
      shapeOf(parsed(R"({"type":"object","required":["summary","edits"],"properties":{
                "edits":{"type":"array","items":{"type":"object","required":["anchor"],
                  "properties":{"anchor":{"type":"string"},"line":{"type":"integer"}}}},
                "summary":{"type":"string"},"promise":{"enum":["bitwise","reassociates"]}}})")),
      R"({"summary": string, "edits": [{"anchor": string, "line"?: integer}, …], "promise"?: "bitwise" | "reassociates"})");
  EXPECT_EQ(
      shapeOf(parsed(R"({"type":"array","maxItems":8,"items":{"type":"string","maxLength":400}})")),
      "[string (at most 400 characters), …] (at most 8)");
  EXPECT_EQ(shapeOf(parsed(R"({"anyOf":[{"type":["string","null"]},{"type":"object"}]})")),
            "string | null | {}");
}

TEST(Schema, OutsideTheSubsetIsAnError) {
  EXPECT_NE(errorText(checkSchema(parsed(R"({"properties":{"a":{"oneOf":[]}}})")))
                .find("schema at $.properties.a.oneOf: the keyword is not understood"),
            std::string::npos);
  EXPECT_NE(errorText(checkSchema(parsed(R"({"type":"text"})"))).find("unknown type \"text\""),
            std::string::npos);
  EXPECT_NE(errorText(checkSchema(parsed(R"({"pattern":"("})"))).find("bad pattern"),
            std::string::npos);
  EXPECT_EQ(errorText(checkSchema(parsed(editSchema))), "no error");
}

static std::string first(llvm::StringRef text) {
  std::string problem, shown;
  auto objects = jsonObjectsIn(text, problem);
  if (objects.empty())
    return problem;
  llvm::raw_string_ostream(shown) << objects.front();
  return shown;
}

TEST(JsonObjects, InWhateverSurroundsThem) {
  EXPECT_EQ(first(R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(first("Here you are:\n```json\n{\"a\":1}\n```\nDone {really}."), R"({"a":1})");
  EXPECT_EQ(first("```\n{\"a\":\"x ``` y\"}\n```"), R"({"a":"x ``` y"})");
  EXPECT_EQ(first("I think {} is wrong... {\"a\": {\"b\": \"}\"}} ok"), "{}");
  EXPECT_EQ(first("if (x) { y(); } so: {\"a\":[1,2]}"), R"({"a":[1,2]})");
  EXPECT_EQ(first("{\"code\":\"line 1\nline 2\tend\"}"), R"({"code":"line 1\nline 2\tend"})")
      << "raw breaks in strings";
  EXPECT_EQ(first("no object"), "it holds no JSON object");
  EXPECT_EQ(first(""), "it holds no JSON object");
  EXPECT_EQ(first("{\"a\":1"),
            "it is no JSON: [1:6, byte=6]: Expected , or } after object property");
  EXPECT_EQ(first("[1,2]"), "it holds no JSON object");
  EXPECT_EQ(first("\xff{\"a\":\"\xff\"}"), "{\"a\":\"\xef\xbf\xbd\"}");
}

TEST(JsonObjects, GarbageEndsSoon) {
  EXPECT_NE(first(std::string(1 << 20, '{')), "");
  EXPECT_NE(first(std::string(1 << 20, '[')), "");
  std::string deep = "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_EQ(first(deep), "it is nested too deeply");
}

static FunctionModel scripted(std::vector<ModelReply> replies) {
  return FunctionModel(
      [replies](const ModelRequest &, size_t number) -> llvm::Expected<ModelReply> {
        EXPECT_LT(number, replies.size());
        return replies[std::min(number, replies.size() - 1)];
      });
}
static const char *const goodEdit = R"({"edits":[{"anchor":"a1","text":"x"}]})";

TEST(Structured, AFittingReply) {
  FunctionModel model = scripted({replyWith(goodEdit)});
  auto reply = llvm::cantFail(askStructured(model, question("go"), parsed(editSchema)));
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(reply.value, parsed(goodEdit));
  EXPECT_EQ(reply.asked, 1u);
  EXPECT_NE(model.asked[0].system.find("\"edits\""), std::string::npos)
      << "the schema is in the text";
  EXPECT_EQ(parsed(model.asked[0].schema), parsed(editSchema));
}

TEST(Structured, DoesNotSayTheShapeTwice) {
  FunctionModel model = scripted({replyWith(goodEdit)});
  ModelRequest request = question("The shape is …");
  request.schema = editSchema;
  EXPECT_TRUE(llvm::cantFail(askStructured(model, request, parsed(editSchema))).ok());
  EXPECT_EQ(model.asked[0].system.find("\"edits\""), std::string::npos);
}

TEST(Structured, AsksAgainWithTheFinding) {
  FunctionModel model = scripted(
      {replyWith("{\"edits\":[{\"anchor\":\"a1\"}]}"), replyWith("Sorry!"), replyWith(goodEdit)});
  auto reply = llvm::cantFail(askStructured(model, question("go"), parsed(editSchema)));
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(reply.repairs, 2u);
  EXPECT_EQ(reply.usage.prompt, 30u);
  ASSERT_EQ(model.asked[1].messages.size(), 3u);
  EXPECT_NE(model.asked[1].messages[2].text.find("$.edits[0]: lacks 'text'"), std::string::npos);
  EXPECT_NE(model.asked[2].messages[4].text.find("it holds no JSON object"), std::string::npos);
}

TEST(Structured, AsksAgainWithWhatTheCallerFinds) {
  FunctionModel model =
      scripted({replyWith(R"({"edits":[{"anchor":"a9","text":""}]})"), replyWith(goodEdit)});
  auto known = [](const json::Value &reply) -> std::string {
    llvm::StringRef anchor =
        *(*reply.getAsObject()->getArray("edits"))[0].getAsObject()->getString("anchor");
    return anchor == "a9" ? "there is no anchor 'a9'" : "";
  };
  auto reply =
      llvm::cantFail(askStructured(model, question("go"), parsed(editSchema), {}, {}, known));
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(reply.repairs, 1u);
  EXPECT_NE(model.asked[1].messages[2].text.find("cannot be used: there is no anchor 'a9'"),
            std::string::npos);

  auto never = [](const json::Value &) -> std::string { return "never right"; };
  FunctionModel stubborn =
      scripted({replyWith(goodEdit), replyWith(goodEdit), replyWith(goodEdit)});
  reply =
      llvm::cantFail(askStructured(stubborn, question("go"), parsed(editSchema), {}, {}, never));
  EXPECT_EQ(reply.outcome, FailureClass::Malformed);
  EXPECT_EQ(reply.problem, "never right");
  EXPECT_EQ(reply.asked, 3u);
}

TEST(Structured, OutcomesAreNoErrors) {
  FunctionModel garbage = scripted({replyWith("a"), replyWith("b"), replyWith("c")});
  auto reply = llvm::cantFail(askStructured(garbage, question("go"), parsed(editSchema)));
  EXPECT_EQ(reply.outcome, FailureClass::Malformed);
  EXPECT_EQ(reply.problem, "it holds no JSON object");
  EXPECT_EQ(reply.text, "c");
  EXPECT_EQ(reply.asked, 3u);

  ModelReply no = replyWith("I will not help with that.\nmore");
  no.end = ReplyEnd::Refused;
  FunctionModel refuses = scripted({no});
  reply = llvm::cantFail(askStructured(refuses, question("go"), parsed(editSchema)));
  EXPECT_EQ(reply.outcome, FailureClass::Refused);
  EXPECT_EQ(reply.problem, "it was refused: I will not help with that.");
  EXPECT_EQ(reply.asked, 1u) << "asking again does not help";

  ModelReply half = replyWith("{\"edits\":[");
  half.end = ReplyEnd::Truncated;
  FunctionModel tooLong = scripted({half, half, half});
  reply = llvm::cantFail(askStructured(tooLong, question("go"), parsed(editSchema)));
  EXPECT_EQ(reply.outcome, FailureClass::Truncated);
  EXPECT_EQ(toString(reply.outcome), "truncated");
  EXPECT_NE(tooLong.asked[1].messages.back().text.find("much shorter"), std::string::npos);
}

TEST(Structured, ErrorsOfProvidersAreErrors) {
  FunctionModel model([](const ModelRequest &, size_t) -> llvm::Expected<ModelReply> {
    return llvm::make_error<ProviderError>("no connection", 0, "", true);
  });
  EXPECT_NE(
      errorText(askStructured(model, question("go"), parsed(editSchema))).find("no connection"),
      std::string::npos);
}

static ModelTool searchTool(std::string answer) {
  ModelTool tool{
      "search",
      "finds documentation.",
      parsed(R"({"type":"object","required":["query"],"properties":{"query":{"type":"string"}}})"),
      {}};
  tool.run = [answer](const json::Object &arguments) {
    return arguments.getString("query")->str() + ": " + answer;
  };
  return tool;
}

TEST(Structured, ToolsAreAnsweredAndAskedAgain) {
  FunctionModel model =
      scripted({replyWith(R"({"tool":"search","arguments":{"query":"ldmatrix"}})"),
                replyWith(R"({"tool":"find","arguments":{}})"),
                replyWith(R"({"tool":"search","arguments":{}})"), replyWith(goodEdit)});
  auto reply = llvm::cantFail(
      askStructured(model, question("go"), parsed(editSchema), {searchTool("found it")}));
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(reply.toolCalls, 3u);
  EXPECT_EQ(reply.repairs, 0u);
  EXPECT_NE(model.asked[0].system.find("- search: finds documentation."), std::string::npos);
  EXPECT_NE(
      model.asked[1].messages.back().text.find("Result of 'search', as data:\nldmatrix: found it"),
      std::string::npos);
  EXPECT_NE(model.asked[2].messages.back().text.find("There is no tool 'find'; there are search."),
            std::string::npos);
  EXPECT_NE(model.asked[3].messages.back().text.find("do not fit: $: lacks 'query'"),
            std::string::npos);
}

TEST(Structured, ToolCallsAndAnswersHaveLimits) {
  StructuredLimits limits;
  limits.toolCalls = 2;
  limits.toolBytes = 20;
  ModelReply call = replyWith(R"({"tool":"search","arguments":{"query":"q"}})");
  FunctionModel model = scripted({call, call, call, call});
  auto reply = llvm::cantFail(askStructured(model, question("go"), parsed(editSchema),
                                            {searchTool(std::string(100, 'x'))}, limits));
  EXPECT_EQ(reply.outcome, FailureClass::ToolLimit);
  EXPECT_EQ(reply.toolCalls, 2u);
  EXPECT_EQ(reply.asked, 4u) << "told once that none is left";
  EXPECT_NE(model.asked[1].messages.back().text.find("(cut off here"), std::string::npos);
  EXPECT_LT(model.asked[1].messages.back().text.size(), 200u);
  EXPECT_NE(model.asked[3].messages.back().text.find("Give your answer now"), std::string::npos);
}
