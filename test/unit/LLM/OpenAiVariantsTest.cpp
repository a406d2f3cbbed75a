#include "Service.h"
#include "gtest/gtest.h"

using namespace kbopt;
namespace json = llvm::json;

static const Spoken openAi;

static json::Object bodyOf(const ServedRequest &request) {
  return *llvm::cantFail(json::parse(request.body)).getAsObject();
}

/// Refuses requests that have \p member with \p fault, answers others.
static LoopbackServer::Handler without(std::string member, int status, std::string fault) {
  return [=](const ServedRequest &request, size_t, ServedConnection &connection) {
    if (bodyOf(request).get(member))
      return connection.reply(status, fault);
    openAi.answer(connection);
  };
}

struct Variant {
  const char *name, *member;
  int status;
  const char *fault;
};
class Variants : public testing::TestWithParam<Variant> {};

TEST_P(Variants, GoOnWithoutWhatIsRefused) {
  LoopbackServer server(without(GetParam().member, GetParam().status, GetParam().fault));
  Client client(server, true, [](ModelSettings &settings) { settings.defaults.temperature = 0.5; });
  ModelRequest request = question("a");
  request.schema = R"({"type":"object"})";
  EXPECT_EQ(llvm::cantFail(client.model->complete(request)).text, openAi.reply);
  EXPECT_EQ(server.requests().size(), 2u);
  llvm::cantFail(client.model->complete(request));
  EXPECT_EQ(server.requests().size(), 3u) << "it is known from then on";
  EXPECT_TRUE(client.clock.waits().empty());
  EXPECT_EQ(client.model->total().calls, 2u);
}

INSTANTIATE_TEST_SUITE_P(
    OpenAi, Variants,
    testing::Values(
        Variant{
            "Schema", "response_format", 400,
            R"({"error":{"message":"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.","param":null}})"},
        Variant{
            "OldVllm", "response_format", 400,
            R"({"object":"error","message":"guided decoding is not available","type":"BadRequestError","code":400})"},
        Variant{
            "Validation", "stream_options", 422,
            R"({"detail":[{"loc":["body","stream_options"]}],"error":"extra field: stream_options"})"},
        Variant{
            "Thinking", "max_tokens", 400,
            R"({"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}})"},
        Variant{
            "Temperature", "temperature", 400,
            R"({"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model.","param":"temperature"}})"}),
    [](const auto &info) { return info.param.name; });

TEST(OpenAi, TheSchemaIsPassedOn) {
  LoopbackServer server([](const ServedRequest &, size_t, ServedConnection &connection) {
    openAi.answer(connection);
  });
  Client client(server, true);
  ModelRequest request = question("a");
  request.schema = R"({"type":"object"})";
  llvm::cantFail(client.model->complete(request));
  json::Object body = bodyOf(server.requests()[0]);
  const json::Object *format = body.getObject("response_format");
  ASSERT_TRUE(format);
  EXPECT_EQ(text(*format->getObject("json_schema")->get("schema")), R"({"type":"object"})");
  EXPECT_FALSE(body.get("temperature")) << "not said: the service's own";
}

TEST(OpenAi, ErrorsInTheWordsOfOthers) {
  std::string body;
  int status = 404;
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.reply(status, body);
  });
  Client client(server, true);
  auto error = [&](const char *text) {
    body = text;
    return errorText(client.model->complete(question("a")));
  };
  EXPECT_NE(error(R"({"error":"model 'big' not found, try pulling it first"})")
                .find("(HTTP 404): model 'big' not found, try pulling it first"),
            std::string::npos)
      << "Ollama";
  EXPECT_NE(error(R"({"object":"error","message":"The model `big` does not exist.","code":404})")
                .find("(HTTP 404): The model `big` does not exist."),
            std::string::npos)
      << "vLLM";
  EXPECT_NE(error(R"({"detail":"Not Found"})").find("(HTTP 404): Not Found"), std::string::npos);
  EXPECT_NE(error("no json").find("(HTTP 404)\n"), std::string::npos);
  EXPECT_NE(
      error("{\"error\":{\"message\":\"two\\nlines\\u001b[31m\"}}").find(": two lines [31m\n"),
      std::string::npos)
      << "nothing that moves a terminal";
  status = 429;
  EXPECT_NE(error(R"({"error":{"code":"insufficient_quota","message":"You exceeded your quota"}})")
                .find("wants to be paid first"),
            std::string::npos);
  EXPECT_TRUE(client.clock.waits().empty());
}

TEST(OpenAi, AModelMayRefuse) {
  LoopbackServer server([](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.beginChunks();
    connection.chunk("data: {\"choices\":[{\"delta\":{\"refusal\":\"I "
                     "cannot.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    connection.endChunks();
  });
  ModelReply reply = llvm::cantFail(Client(server, true).model->complete(question("a")));
  EXPECT_EQ(reply.end, ReplyEnd::Refused);
  EXPECT_EQ(reply.text, "I cannot.");
}
