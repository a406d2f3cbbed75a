//===- Assistant.h - Asks a model about a program ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the conversation behind a proposal: one role composes a step, or a planner picks the places
// and a coder fills them; the debugger mends, the verifier looks at what is to be kept. What comes
// out is a reply file; applying and judging it are others'.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_AGENTS_ASSISTANT_H
#define KBOPT_AGENTS_ASSISTANT_H

#include "kb-opt/Assisted/PromptBuilder.h"
#include "kb-opt/Assisted/ReplyStore.h"
#include "kb-opt/Knowledge/DocumentSearch.h"
#include "kb-opt/LLM/StructuredReply.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Policy/Proposal.h"
#include "kb-opt/Rewrite/Assisted/Grounding.h"
#include <mutex>

namespace kbopt {

/// The programs of a search, as roles are shown them. Thread-safe.
class ShownPrograms {
public:
  virtual ~ShownPrograms();
  /// Its text without the workload, whose unseen sizes must stay hidden.
  virtual std::string shownText(const NodeId &node) = 0;
  /// Calls \p look with the parsed program of \p node, which no other thread uses meanwhile.
  virtual llvm::Error withProgram(const NodeId &node,
                                  llvm::function_ref<llvm::Error(RewriteSession &)> look) = 0;
  /// "line 14: 61 % of global sectors; 31.9 sectors per request where 4.0 suffice"; may be empty.
  virtual std::vector<std::string> hotLines(const NodeId &node, llvm::StringRef kernel) = 0;
  /// How the recorded run of \p node launches kernels: "k<<<(64, 1, 1), (256, 1, 1)>>>, 3 times";
  /// may be empty.
  virtual std::vector<std::string> launches(const NodeId &node) = 0;
  /// The inputs on which \p failed was wrong, a line each; empty where they are not known, or must
  /// stay hidden.
  virtual std::vector<std::string> failingCase(const Attempt &failed) = 0;
  /// Lines on the instances of \p kernel: registers, spills, shared bytes; and its PTX.
  virtual std::string generatedCode(const NodeId &node, llvm::StringRef kernel) = 0;
};

/// What is the same for every question.
struct AssistantFacts {
  std::string file;               ///< as the user calls it
  std::string chip;               ///< "NVIDIA H200, sm_90"
  std::vector<std::string> facts; ///< of the workload, a line each
};

/// \p knowledge without entries of which only the prediction is known: that is for planners.
PromptKnowledge wordsFor(PromptKnowledge knowledge);

/// \p knowledge without worked examples of kernels that are of another family than \p shape.
PromptKnowledge ofFamily(PromptKnowledge knowledge, llvm::StringRef shape);

/// The schedules of \p action that a planner is shown, most promising first.
std::vector<std::string> shownSchedules(const Action &action);
/// The move of \p action with the schedule that \p plan names.
Step scheduleStep(const PlannerReply &plan, const Action &action);

/// Thread-safe. A question depends on its arguments alone.
class Assistant {
public:
  /// All outlive it. \p passes: those that may be named.
  Assistant(Model &model, ReplyStore &replies, ShownPrograms &programs, const PassRegistry &passes,
            AssistantFacts facts);

  /// One role, or planner and then coder; with `minimal` one role that knows no passes. \p choices:
  /// assisted actions at the node, the drawn one first, and those that list schedules, of which the
  /// answer may name one in place of code. Errors are the machinery's; what a model does wrong, and
  /// a spent budget, is in the proposal.
  llvm::Expected<Proposal> propose(const NodeId &node, const ProposalRequest &request,
                                   llvm::ArrayRef<Action> choices);
  /// The debugger's answer to what became of \p failed, which names a reply.
  llvm::Expected<Proposal> repair(const NodeId &node, const ProposalRequest &request,
                                  const Attempt &failed);
  struct Verification {
    bool rejected = false;
    std::string reason; ///< the verifier's words, or why there is no verdict
  };
  /// Compares what is to be kept with the original. It may reject, and nothing else.
  llvm::Expected<Verification> verify(const NodeId &original, const NodeId &candidate,
                                      llvm::ArrayRef<std::string> steps, llvm::StringRef promise);

private:
  /// What a reply was asked with, for a later repair.
  struct Work {
    Action action;
    std::vector<Action> choices; ///< that the reply may say that it is
    GroundedSource source;
    /// Of `source`, the anchors that each pass may change; empty: every pass may change all.
    std::map<std::string, std::set<std::string>> rights;
    /// What the planner wants at each anchor, by its name.
    std::map<std::string, std::string> instructions;
    CoderWindow window;
    CoderReply reply;
  };
  /// What a proposal took so far, and why it ends where it does.
  struct Account {
    Proposal proposal;
    bool priced = true;
    void add(const StructuredReply &reply);
    /// False, with \p failure and \p reason as the end.
    bool end(FailureClass failure, std::string reason);
  };

  /// The answer to \p request; nothing where \p account says why it is no use.
  llvm::Expected<std::optional<llvm::json::Value>> ask(const ModelRequest &request,
                                                       llvm::StringRef schema, const NodeId &node,
                                                       llvm::StringRef kernel, Account &account,
                                                       const ReplyCheck &check);
  /// All false or empty answers of these have ended the account.
  llvm::Expected<std::optional<PlannerReply>> plan(const NodeId &node,
                                                   const ProposalRequest &request,
                                                   llvm::ArrayRef<Action> choices,
                                                   Account &account);
  /// What is wrong with the schedule of \p plan; empty: it can be carried out.
  std::string faultOfSchedule(const NodeId &node, const PlannerReply &plan,
                              llvm::ArrayRef<Action> choices);
  /// What is wrong with the lines that the planner names; empty: they can be changed.
  std::string faultOfPlaces(const NodeId &node, const llvm::json::Value &answer);
  llvm::Expected<bool> ground(const NodeId &node, const PlannerReply &plan,
                              const ProposalRequest &question, Work &work, Account &account);
  /// Numbers that the replies of \p pipeline left open, a line each, for a coder to leave open
  /// again.
  std::vector<std::string> earlierNumbers(llvm::ArrayRef<Step> pipeline);
  /// What \p code says that it is: a choice of \p work, or else `openPass`. Where that is no
  /// choice, or the reply says nothing, what was asked for.
  static const Action &actionOf(const CoderReply &code, const Work &work);
  std::string faultOfCode(CoderReply code, const Work &work) const;
  /// Puts \p code, in which no fault was found, into a proposal.
  llvm::Expected<Proposal> take(CoderReply code, const NodeId &node, const ProposalRequest &request,
                                Work work, Account account);
  /// Grounds all choices of \p work together, and says in \p window what each may change.
  llvm::Error groundAll(const NodeId &node, const ProposalRequest &request,
                        llvm::ArrayRef<Action> choices, Work &work, ComposeWindow &window);
  std::string faultOfStep(const NodeId &node, const llvm::json::Value &answer,
                          llvm::ArrayRef<Action> choices, const Work &work);
  llvm::Expected<Proposal> compose(const NodeId &node, const ProposalRequest &request,
                                   llvm::ArrayRef<Action> choices);
  PromptPass shownPass(const Action &choice) const;
  /// The window of a coder, or of a debugger, for \p action.
  CoderWindow codeWindow(const NodeId &node, const ProposalRequest &request, const Action &action,
                         const Work &work, const PlannerReply &plan);

  PromptTask task(const NodeId &node, const ProposalRequest &request, const Action &action,
                  const PromptKnowledge &knowledge);
  std::optional<PromptExample> example(const PromptKnowledge &knowledge, const PassInfo &info);
  PromptAttempt shown(const Attempt &attempt);
  /// The same with the texts of its reply.
  PromptAttempt shownWhole(const Attempt &attempt);
  std::vector<PromptAttempt> shown(llvm::ArrayRef<Attempt> attempts);
  std::vector<PromptAttempt> shown(llvm::ArrayRef<Leader> leaders, double originalUs);
  std::string summaryOf(const Step &move);

  Model &model;
  ReplyStore &replies;
  ShownPrograms &programs;
  const PassRegistry &passes;
  AssistantFacts facts;
  DocumentIndex documents;
  std::mutex mutex;
  /// By question and reply: two questions may get one reply, and each keeps its own window.
  std::map<Digest, Work> works;
};

} // namespace kbopt

#endif // KBOPT_AGENTS_ASSISTANT_H
