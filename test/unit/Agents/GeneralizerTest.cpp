//===- GeneralizerTest.cpp - A role that writes recipes' programs ---------===//
#include "kb-opt/Agents/Generalizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace kbopt;
using testing::HasSubstr;
using testing::Not;

namespace {

struct Answers : Model {
  std::vector<std::string> answers;
  std::vector<ModelRequest> asked;
  llvm::Expected<ModelReply> complete(const ModelRequest &request) override {
    asked.push_back(request);
    ModelReply reply;
    reply.text = answers.at(std::min(asked.size(), answers.size()) - 1);
    return reply;
  }
};

const RecipePrograms programs = {
    "// kb-workload:\n//   entry: run\n//   unseen-sizes: [{n: 77}]\n\n__global__ void k(int n) "
    "{}\n",
    "// kb-workload:\n//   entry: run\n//   unseen-sizes: [{n: 77}]\n\n#define N 64\n"
    "__global__ void k(int n) { use(N); }\n"};

GeneralizerAnswer ask(Answers &model) {
  return llvm::cantFail(askGeneralizer(model, programs, "it uses a macro"));
}

} // namespace

TEST(Generalizer, EditsAreCarriedOut) {
  Answers model;
  model.answers = {R"({"edits":[
    {"program":"after","old":"#define N 64","new":"constexpr int N = 64;"},
    {"program":"before","old":"(int n) {}","new":"(int n) { }"}]})"};
  GeneralizerAnswer answer = ask(model);
  ASSERT_TRUE(answer.answers()) << answer.cannot;
  EXPECT_THAT(answer.programs.after, HasSubstr("constexpr int N = 64;\n__global__"));
  EXPECT_THAT(answer.programs.after, Not(HasSubstr("#define")));
  EXPECT_THAT(answer.programs.before, HasSubstr("(int n) { }"));
  ASSERT_EQ(model.asked.size(), 1u);
  EXPECT_EQ(model.asked[0].role, ModelRole::Generalizer);
  const std::string &shown = model.asked[0].messages.back().text;
  EXPECT_THAT(shown, HasSubstr("it uses a macro"));
  EXPECT_THAT(shown, HasSubstr("use(N)"));
}

TEST(Generalizer, UnseenSizesAreNeitherShownNorEdited) {
  Answers model;
  model.answers = {R"({"edits":[{"program":"after","old":"{n: 77}","new":"{n: 64}"}]})"};
  GeneralizerAnswer answer = ask(model);
  EXPECT_FALSE(answer.answers());
  for (const ModelRequest &request : model.asked)
    for (const ModelMessage &message : request.messages)
      EXPECT_TRUE(message.speaker == ModelMessage::Speaker::Model ||
                  message.text.find("unseen-sizes") == std::string::npos);
}

TEST(Generalizer, AnEditWithoutItsPlaceIsSentBack) {
  Answers model;
  model.answers = {R"({"edits":[{"program":"after","old":"n","new":"m"}]})", R"({"edits":[]})",
                   R"~({"edits":[{"program":"after","old":"use(N)","new":"use(n)"}]})~"};
  GeneralizerAnswer answer = ask(model);
  ASSERT_TRUE(answer.answers()) << answer.cannot;
  ASSERT_EQ(model.asked.size(), 3u);
  EXPECT_THAT(model.asked[1].messages.back().text, HasSubstr("$.edits[0].old: it occurs"));
  EXPECT_THAT(model.asked[2].messages.back().text, HasSubstr("$.edits: expected an edit"));
  EXPECT_THAT(answer.programs.after, HasSubstr("use(n)"));
}

TEST(Generalizer, CannotIsAnAnswer) {
  Answers model;
  model.answers = {R"({"cannot":"the table holds this program's numbers"})"};
  EXPECT_THAT(ask(model).cannot, HasSubstr("the table holds this program's numbers"));
  EXPECT_EQ(model.asked.size(), 1u);
}
