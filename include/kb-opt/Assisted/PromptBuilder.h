//===- PromptBuilder.h - What each role is shown ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the context windows (STARK, section 4.4) as plain records and the prompts
// made of them: compose, planner, coder, debugger, verifier, and the minimal agent that
// they are compared with. A window is filled anew for every step by the code that knows the
// search; nothing here knows a policy, a model or a program. No Clang.
//
// Whatever comes from outside, program text, compilers' words, earlier replies, is
// quoted between fences that it cannot contain, and declared to be data.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ASSISTED_PROMPTBUILDER_H
#define KBOPT_ASSISTED_PROMPTBUILDER_H

#include "kb-opt/Assisted/AssistedReply.h"
#include "kb-opt/LLM/Model.h"

namespace kbopt {

/// What an attempt was and what became of it.
struct PromptAttempt {
  std::string what;    ///< "shared-memory-tiling{TILE=32}: staged 'a' and 'b' in shared memory"
  std::string verdict; ///< "correct, 1.31 times as fast", "incorrect", "refused", …
  std::string reason;  ///< the judge's, the compiler's or the rule's words; may be empty
  std::string text;    ///< the program or edits, where worth showing; may be empty
};

/// A change worth imitating.
struct PromptExample {
  std::string title;
  std::string text; ///< what it became
};

/// What every role is shown.
struct PromptTask {
  std::string file;                  ///< as the user wrote it
  std::string chip;                  ///< "NVIDIA H200, sm_90"
  std::vector<std::string> facts;    ///< of the workload and the launches, a line each
  std::vector<std::string> state;    ///< performance state, bottlenecks, headroom
  std::vector<std::string> metrics;  ///< "31.9 sectors per request", the few that matter
  std::vector<std::string> hotLines; ///< "line 14: 61 % of samples, long_scoreboard"
  std::string nest; ///< the kernel's raised form (docs/Raising.md); empty: it has none
  std::vector<std::string> knowledge; ///< the few entries and lessons that matter
  std::optional<PromptExample> example;
};

/// A place that the compiler itself found.
struct PromptSite {
  unsigned number = 0; ///< from 1, among the sites of its pass and kernel
  unsigned line = 0;
  std::string what;      ///< "loop over 'k'", or why the fixed rule does not apply there
  unsigned lastLine = 0; ///< not shown
};

/// One pass that may be chosen.
struct PromptPass {
  std::string name, summary;
  std::string kernel;   ///< that it may be applied to
  std::string expected; ///< "1.40 times as fast where it works, in 75 % of tries"; empty: unknown
  std::vector<PromptSite> sites;
  /// Schedules that fit, most promising first. Where there are some, the planner answers with one
  /// of them or with another of the same keys, and no code is asked for.
  std::vector<std::string> schedules;
  std::string promise = {}; ///< "bitwise", "reassociates", "lower-precision"; empty: not told
  /// What it may change: "the body of kernel 'gemm'", or for `compose` the names of anchors.
  std::vector<std::string> anchors = {};
  std::vector<std::string> allowances = {}; ///< names of what its replies may use (PassInfo.h)
};

/// STARK: the node, the root, its children, the leaders.
struct PlannerWindow {
  PromptTask task;
  std::string source; ///< the program of the node
  std::string drawn;  ///< of `passes`, the one that the search would try
  std::vector<PromptPass> passes;
  /// Places that have no anchor, and why: "the launch at line 40: it comes from the macro 'RUN'".
  std::vector<std::string> left;
  std::vector<PromptAttempt> children;
  std::vector<PromptAttempt> leaders;
};

/// Which anchor, what it is, and what the planner wants there.
struct PromptAnchor {
  std::string id, what, instruction;
};

/// STARK: the node, the root, its children, and its siblings' children.
struct CoderWindow {
  PromptTask task;
  std::string pass, passPrompt; ///< the text of prompt.md
  std::string kernel;
  std::string instruction;         ///< the planner's, for the whole change
  std::string promise;             ///< of the pass: "bitwise", "reassociates", "lower-precision"
  std::vector<PromptPass> choices; ///< that the answer may say that it is
  std::vector<std::string> allowances; ///< names (PassInfo.h)
  std::vector<std::string> parameters; ///< "TILE: edge of the tile, one of 16, 32"
  std::vector<PromptAnchor> anchors;
  std::vector<std::string> left; ///< places that have none, and why
  std::string marked;            ///< `GroundedSource::marked`
  std::vector<PromptAttempt> children;
  std::vector<PromptAttempt> cousins;
};

/// What planner and coder know, in one window.
struct ComposeWindow {
  /// Its `marked` has line numbers, and its `allowances` are those of all passes.
  CoderWindow coder;
  std::vector<PromptPass> passes;        ///< the drawn one, `coder.pass`, among them
  std::vector<std::string> launches;     ///< "k<<<(64, 1, 1), (256, 1, 1)>>>, 3 times"
  std::vector<PromptAttempt> schedules;  ///< whole ones that were tried, fastest first
  std::optional<PromptAttempt> contrast; ///< a reply for such a kernel that failed or lost
  std::vector<PromptAttempt> leaders;
};

/// STARK: the node, the root, its siblings. `coder` is the window that the reply was asked with.
struct DebuggerWindow {
  CoderWindow coder;
  CoderReply reply;    ///< the one that failed
  std::string verdict; ///< "refused by rule 'mutable-state'", "does not compile", "incorrect"
  std::string words;   ///< the rule's, the compiler's or the judge's
  std::vector<std::string> details;     ///< the facts behind them, a line each
  std::vector<std::string> failingCase; ///< the inputs on which it was wrong, likewise
  std::vector<PromptAttempt> siblings;
};

/// KernelBlaster, section 4.1: soft verification of what is to be kept.
struct VerifierWindow {
  PromptTask task;
  std::string original, candidate;
  std::string promise;            ///< the weakest of the steps
  std::vector<std::string> steps; ///< "shared-memory-tiling: staged 'a' …"
};

/// Two programs of which a comparison made no recipe.
struct GeneralizerWindow {
  std::string before, after;
  std::string reason; ///< why there is none
};

/// Requests ready to be asked, without a sample number. Functions of their windows.
ModelRequest composeRequest(const ComposeWindow &window);
ModelRequest plannerRequest(const PlannerWindow &window);
ModelRequest coderRequest(const CoderWindow &window);
ModelRequest debuggerRequest(const DebuggerWindow &window);
ModelRequest verifierRequest(const VerifierWindow &window);
ModelRequest generalizerRequest(const GeneralizerWindow &window);
/// The baseline of KernelBlaster's ablation (`--minimal-agent`): source and task, no pass, no
/// profile, no memory, no history. Answers like the coder.
ModelRequest minimalRequest(const CoderWindow &window);

/// Where the planner wants a change.
struct PlannedPlace {
  /// A site of the compiler's, or else lines of the source.
  unsigned site = 0;
  unsigned first = 0, last = 0;
  std::string instruction;
};
/// What the planner answers.
struct PlannerReply {
  std::string pass, kernel;
  std::string why;
  std::string instruction;          ///< for the whole change
  std::vector<PlannedPlace> places; ///< empty: the kernel's whole body
  std::string schedule;           ///< of a pass with `PromptPass::schedules`: "rows team=32 rows=8"
  std::vector<std::string> unfit; ///< passes that do not fit the kernel as it is
};
/// What `compose` answers: a schedule, or a change.
struct ComposeReply {
  std::string schedule;           ///< as PlannerReply's; then `code` has no edits
  CoderReply code;                ///< what is to be deleted has an edit without text
  std::vector<std::string> unfit; ///< PlannerReply's
};
/// What the verifier answers. It may reject, and nothing else.
struct VerifierReply {
  bool accepted = false;
  std::string reason;
};

llvm::StringRef composeSchema();
llvm::StringRef plannerSchema();
llvm::StringRef verifierSchema();
llvm::StringRef generalizerSchema();
/// Errors are `UsageError`s (diagnostics) that name the member at fault, for the model to mend.
llvm::Expected<ComposeReply> readComposeReply(const llvm::json::Value &answer);
llvm::Expected<PlannerReply> readPlannerReply(const llvm::json::Value &answer);
llvm::Expected<VerifierReply> readVerifierReply(const llvm::json::Value &answer);

/// \p text between two fences that name \p what and that \p text does not contain.
std::string quotedAsData(llvm::StringRef what, llvm::StringRef text);

} // namespace kbopt

#endif // KBOPT_ASSISTED_PROMPTBUILDER_H
