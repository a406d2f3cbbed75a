//===- AssistantFixture.h - Questions about one small program ---*- C++ -*-===//
//
// Owns an assistant whose model answers with prepared texts, about a program without a search.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_UNIT_AGENTS_ASSISTANTFIXTURE_H
#define KBOPT_TEST_UNIT_AGENTS_ASSISTANTFIXTURE_H

#include "../LLM/TestModels.h"
#include "../Source/SourceTestUtils.h"
#include "kb-opt/Agents/Assistant.h"
#include "gmock/gmock.h"

namespace kbopt::test {

/// One program, which every node but those with a text of their own stands for.
struct OneProgram : ShownPrograms {
  std::unique_ptr<RewriteSession> session;
  std::map<NodeId, std::string> texts;
  std::vector<std::string> lines;   ///< the hottest ones
  std::vector<std::string> shapes;  ///< of the launches
  std::vector<std::string> failing; ///< the inputs on which a change was wrong
  std::string shownText(const NodeId &node) override {
    auto own = texts.find(node);
    return own == texts.end() ? session->text().str() : own->second;
  }
  llvm::Error withProgram(const NodeId &,
                          llvm::function_ref<llvm::Error(RewriteSession &)> look) override {
    return look(*session);
  }
  std::vector<std::string> hotLines(const NodeId &, llvm::StringRef) override { return lines; }
  std::vector<std::string> launches(const NodeId &) override { return shapes; }
  std::vector<std::string> failingCase(const Attempt &) override { return failing; }
  std::string generatedCode(const NodeId &, llvm::StringRef) override { return ""; }
};

struct AssistantTest : testing::Test {
  TemporaryDirectory folder = makeFolder();
  ReplyStore replies{folder.path().str(), realFileSystem()};
  OneProgram programs;
  PipelineOptions pipeline;
  /// Of each role, one after the other; the last one again and again.
  std::map<ModelRole, std::vector<std::string>> answers;
  FunctionModel model{[this](const ModelRequest &request, size_t) -> llvm::Expected<ModelReply> {
    std::vector<std::string> &left = answers[request.role];
    EXPECT_FALSE(left.empty()) << "not to be asked: " << roleName(request.role).str();
    if (left.empty())
      return replyWith("");
    std::string text = left.front();
    if (left.size() > 1)
      left.erase(left.begin());
    return replyWith(text);
  }};
  std::optional<Assistant> assistant;
  ProposalRequest request;
  std::vector<Action> choices;

  /// Begins with \p text and the assisted actions of \p passes for kernel 'k', the first one drawn.
  /// Planner and coder are asked, unless a test says otherwise.
  void open(llvm::StringRef text, std::vector<std::string> passes) {
    pipeline.registry = &builtinPasses();
    pipeline.parser = &sharedParser();
    programs.session = llvm::cantFail(RewriteSession::create(text, sharedCommand(), pipeline));
    assistant.emplace(model, replies, programs, builtinPasses(),
                      AssistantFacts{"k.cu", "H200", {}});
    for (const std::string &pass : passes)
      choices.push_back({pass, "k", 0, {}, /*assisted=*/true});
    request.action = choices.front();
    request.roles = StepRoles::PlanCode;
  }
  Proposal propose() { return llvm::cantFail(assistant->propose("node", request, choices)); }
  /// Answers of \p role, as JSON.
  void say(ModelRole role, std::vector<std::string> texts) { answers[role] = std::move(texts); }
  /// The last request that \p role got; all of its words.
  std::string told(ModelRole role) const {
    std::string text;
    for (const ModelRequest &asked : model.asked)
      if (asked.role == role) {
        text = asked.system;
        for (const ModelMessage &message : asked.messages)
          text += "\n" + message.text;
      }
    return text;
  }
  size_t timesAsked(ModelRole role) const {
    return llvm::count_if(model.asked,
                          [&](const ModelRequest &asked) { return asked.role == role; });
  }
};

/// A kernel with a launch, and what a coder may answer.
inline constexpr llvm::StringLiteral smallProgram =
    R"(__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = 2.0f * in[i];
}
void run(float *out, const float *in, int n) {
  k<<<(n + 255) / 256, 256>>>(out, in, n);
}
)";

/// A plan for \p pass, with \p more members.
inline std::string planFor(llvm::StringRef pass, llvm::StringRef more = "") {
  return (R"({"pass":")" + pass + R"(","kernel":"k","why":"w","instruction":"do it")" + more + "}")
      .str();
}

/// A change of the body that says it is \p pass, if anything.
inline std::string codeFor(llvm::StringRef pass) {
  std::string named = pass.empty() ? "" : R"("pass":")" + pass.str() + R"(",)";
  return "{" + named +
         R"("summary":"strode","edits":[{"anchor":"a1","text":"\n  out[threadIdx.x] = 2.0f * in[threadIdx.x];\n"}]})";
}

} // namespace kbopt::test

#endif // KBOPT_TEST_UNIT_AGENTS_ASSISTANTFIXTURE_H
