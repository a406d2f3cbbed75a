//===- ReplyTest.cpp - Replies, templates and their files -------------------===//

#include "../SourceDir.h"
#include "kb-opt/Assisted/ReplyStore.h"
#include "kb-opt/Assisted/ReplyTemplate.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace kbopt;
namespace json = llvm::json;

namespace {

PassInfo passInfo() {
  PassInfo info{};
  info.name = "tile";
  info.promise = Promise::Reassociates;
  return info;
}

AssistedReply reply() {
  AssistedReply reply;
  reply.pass = "tile";
  reply.kernel = "k";
  reply.summary = "tiled";
  reply.anchors = {{"a1", "c:@F@k", "FunctionBody", 10, 20, digestOf("x")}};
  reply.edits = {{"a1", "out[0] = {{TILE}};"}};
  reply.parameters = {{"TILE", {"16", "32"}, "32"}};
  return reply;
}

std::string ruleOf(const AssistedReply &reply) {
  std::optional<Refusal> refusal = checkReply(reply, passInfo());
  return refusal ? editRuleName(refusal->rule).str() : "";
}

std::string coderFault(llvm::StringRef text) {
  auto answer = readCoderReply(llvm::cantFail(json::parse(text)));
  return answer ? "" : llvm::toString(answer.takeError());
}

TEST(Reply, TheTableNamesEveryRuleOnce) {
  std::set<llvm::StringRef> names;
  for (const EditRuleInfo &info : editRules()) {
    EXPECT_EQ(editRuleName(info.rule), info.name);
    EXPECT_TRUE(names.insert(info.name).second) << info.name.str();
    EXPECT_FALSE(info.demand.ends_with("."));
  }
}

TEST(Reply, ThePageOnSecurityHasEveryRule) {
  std::string page = llvm::cantFail(realFileSystem().read(sourcePath("docs/Security.md")));
  for (const EditRuleInfo &info : editRules())
    EXPECT_NE(page.find(("\n| `" + info.name + "` | ").str()), std::string::npos)
        << info.name.str();
}

TEST(Reply, PrintsWhatItReads) {
  std::string bytes = printReply(reply());
  AssistedReply again = llvm::cantFail(parseReply(bytes));
  EXPECT_EQ(printReply(again), bytes);
  EXPECT_EQ(again.anchors, reply().anchors);
  AssistedReply loose = reply();
  loose.anchors[0].numberless = digestOf("y");
  EXPECT_EQ(llvm::cantFail(parseReply(printReply(loose))).anchors, loose.anchors);
  EXPECT_EQ(again.parameters, reply().parameters);
}

TEST(Reply, FilesAreNamedByTheirContent) {
  FakeFileSystem files;
  ReplyStore store("replies", files);
  Digest name = llvm::cantFail(store.put(reply()));
  EXPECT_EQ(name, digestOf(printReply(reply())));
  EXPECT_EQ(llvm::cantFail(store.get(name)).summary, "tiled");
  EXPECT_EQ(llvm::cantFail(store.put(reply())), name);
  EXPECT_EQ(files.files.size(), 1u);
}

TEST(Reply, ChangedMissingAndForeignFilesAreRefused) {
  FakeFileSystem files;
  ReplyStore store("replies", files);
  Digest name = llvm::cantFail(store.put(reply()));
  files.files["replies/" + name + ".json"] += " ";
  auto changed = store.get(name);
  ASSERT_FALSE(changed);
  EXPECT_NE(llvm::toString(changed.takeError()).find("was changed"), std::string::npos);
  auto missing = store.get(digestOf("no such reply"));
  ASSERT_FALSE(missing);
  EXPECT_NE(llvm::toString(missing.takeError()).find("there is no reply"), std::string::npos);
  for (const char *path : {"", "../../etc/passwd", "../replies/0123456789abcdef0123",
                           "ABCDEFABCDEFABCDEFABCDEFABCDEFAB"}) {
    auto foreign = store.get(path);
    ASSERT_FALSE(foreign);
    EXPECT_NE(llvm::toString(foreign.takeError()).find("is no name of a reply"), std::string::npos);
  }
  // Right name, wrong content: still no reply.
  std::string nonsense = "{\"version\":1}";
  files.files["replies/" + digestOf(nonsense) + ".json"] = nonsense;
  auto unreadable = store.get(digestOf(nonsense));
  ASSERT_FALSE(unreadable);
  EXPECT_NE(llvm::toString(unreadable.takeError()).find("'pass' is missing"), std::string::npos);
}

TEST(Reply, AFullDiskIsAnError) {
  FakeFileSystem files;
  files.failWrites = true;
  auto name = ReplyStore("replies", files).put(reply());
  ASSERT_FALSE(name);
  llvm::consumeError(name.takeError());
  auto nowhere = ReplyStore("", files).put(reply());
  ASSERT_FALSE(nowhere);
  EXPECT_NE(llvm::toString(nowhere.takeError()).find("no folder"), std::string::npos);
}

TEST(Reply, CoderAnswersAreChecked) {
  EXPECT_EQ(
      coderFault(
          R"({"summary":"s","edits":[{"anchor":"a1","text":"x"}],"promise":"bitwise","assumes":["aligned"],
                          "parameters":[{"name":"T","values":[16,"32"],"default":16}]})"),
      "");
  EXPECT_NE(coderFault(R"([])").find("is not an object"), std::string::npos);
  EXPECT_NE(coderFault(R"({"edits":[]})").find("'summary' is missing"), std::string::npos);
  EXPECT_NE(coderFault(R"({"summary":" ","edits":[]})").find("'summary' is empty"),
            std::string::npos);
  EXPECT_NE(coderFault(R"({"summary":"","cannot":"why","edits":[{"anchor":"a1","text":"x"}]})")
                .find("'cannot' stands beside edits"),
            std::string::npos);
  EXPECT_EQ(coderFault(R"({"pass":"p","summary":"","cannot":"why","edits":[]})"), "");
  EXPECT_NE(coderFault(R"({"summary":"s","edits":{}})").find("'edits' is not a list"),
            std::string::npos);
  EXPECT_NE(
      coderFault(R"({"summary":"s","edits":[{"anchor":"a1"}]})").find("'edits[0].text' is missing"),
      std::string::npos);
  EXPECT_NE(coderFault(R"({"summary":"s","edits":[],"command":"rm"})").find("'command' is unknown"),
            std::string::npos);
  EXPECT_NE(
      coderFault(R"({"summary":"s","edits":[],"promise":"exact"})").find("'promise' is none of"),
      std::string::npos);
  EXPECT_NE(
      coderFault(R"({"summary":"s","edits":[],"assumes":["luck"]})").find("'assumes' may hold"),
      std::string::npos);
}

TEST(Reply, SummariesAreOneLine) {
  auto answer =
      readCoderReply(llvm::cantFail(json::parse(R"({"summary":"a\n\u001b[31mb","edits":[]})")));
  EXPECT_EQ(llvm::cantFail(std::move(answer)).summary, "a  [31mb");
}

TEST(Reply, KeepsTheRulesOnReplies) {
  EXPECT_EQ(ruleOf(reply()), "");
  AssistedReply each = reply();
  each.edits[0].text = std::string(ReplyLimits::editBytes + 1, ' ');
  EXPECT_EQ(ruleOf(each), "size");
  each = reply();
  each.edits[0].text = std::string(ReplyLimits::editLines + 1, '\n');
  EXPECT_EQ(ruleOf(each), "size");
  each = reply();
  each.edits[0].anchor = "a2";
  EXPECT_EQ(ruleOf(each), "unknown-anchor");
  each = reply();
  each.edits.push_back(each.edits[0]);
  EXPECT_EQ(ruleOf(each), "unknown-anchor");
  each = reply();
  each.edits.clear();
  EXPECT_EQ(ruleOf(each), "nothing-changed");
  each = reply();
  each.promise = Promise::LowerPrecision;
  EXPECT_EQ(ruleOf(each), "promise");
  each = reply();
  each.assumes = {Assumption::NoAlias};
  EXPECT_EQ(ruleOf(each), "promise");
  each = reply();
  each.edits[0].text += "/* \xe2\x80\xae */";
  EXPECT_EQ(ruleOf(each), "character");
  each = reply();
  each.edits[0].text += '\0';
  EXPECT_EQ(ruleOf(each), "character");
  each = reply();
  each.edits[0].text += "// 3 × 3 \xe2\x86\x92 ok";
  EXPECT_EQ(ruleOf(each), "");
}

TEST(ReplyTemplate, FindsPlaceholders) {
  EXPECT_EQ(placeholders("{{A}} {{B_2}} {{a}} {{ C }} {{{D}}} float m[1][1] = {{x}};"),
            (std::set<std::string>{"A", "B_2", "D"}));
  EXPECT_EQ(placeholders("{{A"), std::set<std::string>());
}

TEST(ReplyTemplate, DeclaredAndUsedAgree) {
  auto fault = [](std::vector<TemplateParameter> parameters, const char *text) {
    auto refusal = checkTemplate(parameters, {{"a1", text}});
    return refusal ? refusal->sentence : "";
  };
  EXPECT_EQ(fault({{"A", {"1", "float4"}, "1"}}, "{{A}}"), "");
  EXPECT_NE(fault({}, "{{A}}").find("is not among the parameters"), std::string::npos);
  EXPECT_NE(fault({{"A", {"1"}, "1"}}, "").find("declared but"), std::string::npos);
  EXPECT_NE(fault({{"A", {"1"}, "2"}}, "{{A}}").find("none of its values"), std::string::npos);
  EXPECT_NE(fault({{"A", {}, "1"}}, "{{A}}").find("needs 1 to 16"), std::string::npos);
  EXPECT_NE(fault({{"A", {"1", "1"}, "1"}}, "{{A}}").find("twice"), std::string::npos);
  EXPECT_NE(fault({{"A", {"1"}, "1"}, {"A", {"1"}, "1"}}, "{{A}}").find("declared twice"),
            std::string::npos);
  EXPECT_NE(fault({{"a", {"1"}, "1"}}, "{{a}}").find("upper-case"), std::string::npos);
  for (const char *value : {"1;}", "x y", "", "1.5", "-", "a-b", "system(\"rm\")"})
    EXPECT_NE(fault({{"A", {value}, value}}, "{{A}}").find("neither an integer nor"),
              std::string::npos)
        << value;
}

TEST(ReplyTemplate, FillsValues) {
  EXPECT_EQ(instantiate("a{{T}}b{{T}}{{{U}}}", {{"T", "16"}, {"U", "x"}}), "a16b16{x}");
  TemplateValues values = llvm::cantFail(templateValues(reply(), {}));
  EXPECT_EQ(values["TILE"], "32");
  values = llvm::cantFail(templateValues(reply(), {{"TILE", "16"}}));
  EXPECT_EQ(values["TILE"], "16");
  auto outside = templateValues(reply(), {{"TILE", "64"}});
  ASSERT_FALSE(outside);
  EXPECT_NE(llvm::toString(outside.takeError()).find("'64' is no value for parameter 'TILE'"),
            std::string::npos);
  auto unknown = templateValues(reply(), {{"EDGE", "16"}});
  ASSERT_FALSE(unknown);
  EXPECT_NE(llvm::toString(unknown.takeError()).find("has no parameter 'EDGE'"), std::string::npos);
}

} // namespace
