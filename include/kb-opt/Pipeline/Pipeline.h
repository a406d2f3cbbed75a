//===- Pipeline.h - Runs rewrite passes over one program --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the deterministic half of kb-opt: text and pipeline in, text out. It
// knows no judge, no policy and no model; `-passes=auto` is built on
// `RewriteSession`, replay on `runPipeline`.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PIPELINE_PIPELINE_H
#define KBOPT_PIPELINE_PIPELINE_H

#include "kb-opt/Assisted/Refusal.h"
#include "kb-opt/Core/NestFacts.h"
#include "kb-opt/Core/Remark.h"
#include "kb-opt/Pipeline/PipelineText.h"
#include "kb-opt/Rewrite/EntryValues.h"
#include "kb-opt/Rewrite/RecordedLaunch.h"
#include "kb-opt/Source/Edits.h"
#include "kb-opt/Support/Timings.h"
#include <functional>
#include <memory>
#include <set>

namespace mlir {
template <typename OpTy> class OwningOpRef;
} // namespace mlir

namespace kbopt {

namespace kb {
class ProgramOp;
} // namespace kb
struct CompileCommand;
class ImportedProgram;
class ParsedProgram;
class PassContext;
class ProgramParser;

struct PipelineOptions {
  /// The passes that pipelines may name; never null when a pipeline runs.
  const PassRegistry *registry = nullptr;
  /// Keeps preambles between runs; null for one of its own.
  ProgramParser *parser = nullptr;
  /// Device bitcode of a text, as CodeEmitter makes it; empty to run clang each
  /// time. The driver answers from the journal here.
  std::function<llvm::Expected<std::string>(llvm::StringRef text)> bitcode;
  /// Folder of reply files, for steps with `reply=`.
  std::string replies;
  /// The chip that schedules are chosen for, by name; empty: an H200.
  std::string target;
  /// What passes offer to a search promises at least this.
  Promise weakest = Promise::Reassociates;
  /// What the workload passes to the function that it calls, for estimates without a run.
  EntryValues entry;
  /// Fills `PipelineResult::nests`.
  bool keepNests = false;
  /// Runs at most this many rewrites (pass at site), then only reports; -1 for
  /// all. `onBisect` is told of each rewrite and whether it ran.
  int64_t bisectLimit = -1;
  std::function<void(int64_t number, const Remark &rewrite, bool ran)> onBisect;
  /// Fills `PipelineResult::timing`.
  bool timePasses = false;
  /// Receives the time of parsing and importing, if there.
  Timings *timings = nullptr;
  /// Asked before each kernel is imported and each pass is asked about it; if it says so, the
  /// import and `opportunities` end with an interruption.
  std::function<bool()> stop = [] { return false; };
  /// Called after each element of the pipeline that changed the program.
  std::function<void(const Step &step, llvm::StringRef text)> afterStep;
};

/// Adjacent steps that change schedules, as one: the text before the first of them and, by USR of
/// the kernel, what they have set by now (`scheduleText`). The next such step begins with both.
struct ScheduleRun {
  std::string base;
  std::map<std::string, std::string> schedules;
};

/// What one step did.
struct StepResult {
  /// Sites that were rewritten; 0 where the pass did not apply anywhere.
  unsigned rewritten = 0;
  /// One per site, passed or missed, in source order.
  std::vector<Remark> remarks;
  /// Which rule refused the step's reply; the remark has its words, too.
  std::optional<Refusal> refusal;
  /// What the rewrite promises and assumes: the pass's own, or its reply's.
  Promise promise = Promise::Bitwise;
  std::vector<Assumption> assumes;
  /// The step as steps for each kernel, where more than the program decided what it did: these do
  /// the same wherever they are replayed. Empty where the step itself does.
  std::vector<Step> written;
  /// What was committed; offsets refer to the text before the step, or to `run->base` where there
  /// is one.
  Edits edits;
  /// The run of steps that this one belongs to, after a pass that composes.
  std::optional<ScheduleRun> run;
};

struct PipelineResult {
  /// The program after all steps; the input, byte for byte, if none applied.
  std::string text;
  /// The steps that rewrote something, in order. They replay to `text`.
  std::vector<Step> applied;
  /// What `text` promises and assumes: the weakest that a step does.
  Promise promise = Promise::Bitwise;
  std::set<Assumption> assumes;
  std::vector<Remark> remarks;
  /// MLIR's timing report; empty unless asked for.
  std::string timing;
  /// The raised kernels with their schedules after the last step, as `--emit=kb-nest` shows them;
  /// empty unless asked for.
  std::string nests;
};

/// A site at which a pass could act now, or the reason why it cannot.
struct Opportunity {
  const PassInfo *pass = nullptr;
  /// Replays at exactly this site, with default options; where it applies only with another value
  /// of those that a search tries, with the nearest such value.
  Step step;
  bool applies = false;
  /// Whether a model could be asked for the pass at this site. It may be true where
  /// the rule applies, too.
  bool assisted = false;
  std::string reason;
  /// Where it applies: RewritePass::choices.
  std::vector<std::string> choices;
  NestFacts facts; ///< SiteChoices::facts
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  unsigned endLine = 0; ///< of the site's last token
};

/// Parses \p pipeline, then runs it over \p text. Errors: `UsageError` for the
/// pipeline or for input that does not parse. A rewrite after which the
/// program no longer parses is a bug of the pass and is reported as a
/// `ToolError` that names the pass and keeps clang's message.
llvm::Expected<PipelineResult> runPipeline(llvm::StringRef text, const CompileCommand &command,
                                           llvm::StringRef pipeline,
                                           const PipelineOptions &options = {});

/// A parsed and imported program that steps are applied to one by one. One
/// thread at a time; independent sessions may run in parallel.
class RewriteSession {
public:
  /// \p run: the steps that made \p text compose with those that follow.
  static llvm::Expected<std::unique_ptr<RewriteSession>>
  create(llvm::StringRef text, const CompileCommand &command, const PipelineOptions &options = {},
         std::optional<ScheduleRun> run = std::nullopt);
  ~RewriteSession();

  llvm::StringRef text() const;
  const ParsedProgram &parsed() const;
  /// Imported when it is first asked for.
  llvm::Expected<const ImportedProgram &> imported();

  /// Calls \p look with what passes see: the program before the first of the adjacent steps that
  /// compose, with the schedules that they set, or else the program as it is.
  llvm::Error withPassContext(llvm::function_ref<llvm::Error(const PassContext &)> look);
  /// The kb.program after the steps so far, with the nests of kernels that have a schedule; with \p
  /// all the raised form of every kernel.
  llvm::Expected<mlir::OwningOpRef<kb::ProgramOp>> program(bool all);
  /// The raised form of \p kernel in the program as it is; empty if it has none.
  llvm::Expected<std::string> nestText(llvm::StringRef kernel);

  /// Every site of every pass that rewrites by a rule, in the registry's and source
  /// order; with \p assisted, also those of passes that need a model. \p recorded: how the workload
  /// launched the kernels of the program that passes see (`withPassContext`), for estimates; empty
  /// where nothing was recorded.
  llvm::Expected<std::vector<Opportunity>> opportunities(bool assisted = false,
                                                         const RecordedLaunches &recorded = {});
  /// The passes that rewrite by a rule and apply somewhere, in the registry's order. A pass is
  /// asked until it applies once, so that this costs less than `opportunities`.
  llvm::Expected<std::vector<std::string>> passesThatApply();
  /// Applies \p step and re-parses if anything changed.
  llvm::Expected<StepResult> apply(const Step &step);
  /// A session of what \p step makes of the program, which itself stays as it is;
  /// null if the step applies nowhere.
  llvm::Expected<std::unique_ptr<RewriteSession>> derive(const Step &step, StepResult &result);

private:
  RewriteSession();
  struct State;
  std::unique_ptr<State> state;
};

} // namespace kbopt

#endif // KBOPT_PIPELINE_PIPELINE_H
