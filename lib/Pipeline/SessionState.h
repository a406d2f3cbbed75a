//===- SessionState.h - One program under rewriting -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the current text of a session with its AST and IR, and applying one
// step to it. Shared by RewriteSession and runPipeline.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_PIPELINE_SESSIONSTATE_H
#define KBOPT_LIB_PIPELINE_SESSIONSTATE_H

#include "PassAdapter.h"
#include "kb-opt/Analysis/Import.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Rewrite/RewritePass.h"
#include "kb-opt/Source/CompileCommand.h"
#include "mlir/IR/MLIRContext.h"
#include <map>
#include <set>
#include <tuple>

namespace kbopt {

/// \p error of a parse after \p pass as a bug of that pass.
llvm::Error unparsableAfter(llvm::StringRef pass, llvm::Error error);

/// The reason for leaving \p line alone.
std::string suppressionText(unsigned line);

/// Whether \p pass looks at kernels of headers: it prints new ones, or works on launches, which
/// stand in the main file.
bool takesHeaders(const RewritePass &pass, SiteKind site);

struct RewriteSession::State {
  /// \p context: null for one of its own.
  State(const CompileCommand &command, const PipelineOptions &options,
        std::shared_ptr<mlir::MLIRContext> context = nullptr);

  llvm::Error start(llvm::StringRef text);
  /// Imports if the text has changed since, and makes `passContext`.
  llvm::Error import();
  /// Gives the kernels of `passContext` the schedules of \p run.
  llvm::Error setSchedules(const ScheduleRun &run);
  llvm::Expected<StepResult> apply(const Step &step);
  /// What \p step does; \p edited receives the text if it rewrites anything.
  llvm::Expected<StepResult> rewrite(const Step &step, std::string &edited);
  /// The program that passes which compose work on, imported: `base` in a run, else this one.
  llvm::Expected<State &> scheduled();
  /// Whether the imported program has the kernel \p name, with or without its namespaces.
  bool hasKernel(llvm::StringRef name) const;
  llvm::Expected<std::vector<Opportunity>> opportunities(bool assisted,
                                                         const RecordedLaunches &launches);
  llvm::Expected<std::vector<std::string>> passesThatApply();

  const PassRegistry &registry() const { return *options.registry; }

  CompileCommand command;
  PipelineOptions options;
  std::unique_ptr<ProgramParser> ownParser;
  std::shared_ptr<mlir::MLIRContext> mlirContext;
  std::unique_ptr<ParsedProgram> parsed;
  std::optional<ImportedProgram> imported;
  std::optional<PassContext> passContext;
  /// Counts imports, so that a carrier can tell whether it is up to date.
  unsigned generation = 0;
  ChipInfo target;
  /// What `passContext` answers from; empty where nothing is known of launches.
  RecordedLaunches recorded;
  /// The adjacent steps before that compose, if the last step was one.
  std::optional<ScheduleRun> run;
  std::unique_ptr<State> base; ///< parsed from `run->base` when first needed
  /// Those that `passContext` has, as text.
  std::map<std::string, std::string> schedules;
  /// Rewrites so far, for bisection.
  int64_t rewrites = 0;
  /// Bitcode that a reply's text was compiled to, for the import that may follow.
  std::pair<std::string, std::string> compiled;

  /// The choices at \p site with which \p pass applies; where it does not apply by itself, one of
  /// them may make it \p applies. A whole schedule is looked at when it is tried.
  llvm::Expected<SiteChoices> choicesAt(const RewritePass &pass, const PassInfo &info,
                                        const Site &site, bool &applies);
  /// Values that a search tries with which \p pass applies at \p site, where it does not with its
  /// defaults: one option differs, by as few places of its list as will do. Empty if there are
  /// none.
  llvm::Expected<std::map<std::string, std::string>>
  triedValuesAt(const RewritePass &pass, const PassInfo &info, const Site &site);

private:
  /// What a pass answered at a site.
  struct Answer {
    std::optional<Rewrite> rewrite;
    std::string reason;          ///< where there is none
    std::set<std::string> names; ///< the new ones of the rewrite
  };
  /// What \p pass makes of \p site. Each site and options are asked once while the program, its
  /// schedules and what is known of launches stay the same. Its new names are none of \p taken, and
  /// do not depend on what else was asked.
  llvm::Expected<const Answer &> ask(const RewritePass &pass, const PassInfo &info,
                                     const Site &site, const PassOptions &options,
                                     const std::set<std::string> &taken = {});
  /// By pass, kernel, place of the site and options.
  std::map<std::tuple<std::string, std::string, unsigned, unsigned, std::string>, Answer> answers;

  /// What \p pass could do at \p site, but for its number. \p askable: a model could be asked, too.
  llvm::Expected<Opportunity> opportunityAt(const RewritePass &pass, const PassInfo &info,
                                            const Site &site, bool askable);
  /// The program that \p pass is asked about, with what is known of \p launches.
  llvm::Expected<State &> programFor(const RewritePass &pass, const RecordedLaunches &launches);
  llvm::Expected<bool> appliesAnywhere(const RewritePass &pass, const PassInfo &info);

  struct Found {
    const KernelView *kernel;
    Site site;
  };
  /// `rewrite` of this very program by a rule.
  llvm::Expected<StepResult> rewriteByRule(const RewritePass &pass, const PassInfo &info,
                                           const Step &step, std::string &edited);
  /// What clang says of \p text, if it is no program.
  std::string whyNotParsable(llvm::StringRef text);
  /// Why the program with \p edits is none, where they add a kernel; empty if it is one. A kernel
  /// that was printed from a nest is new text as a whole, so that it is looked at before anything
  /// rests on it.
  llvm::Expected<std::string> whyNotCompiling(const Edits &edits);
  /// The program's text with \p edits.
  llvm::Expected<std::string> textWith(const Edits &edits) const;
  /// Adds the edits of kernels that steps before scheduled and \p changed does not hold.
  llvm::Error addScheduled(const KernelSchedules &changed, Edits &edits);
  /// The assisted form of a pass: what a reply says, held to the rules on edits.
  llvm::Expected<StepResult> rewriteFromReply(const Step &step, const PassInfo &info,
                                              std::string &edited);
  llvm::Expected<std::string> bitcodeOf(llvm::StringRef text);
  llvm::Expected<std::vector<Found>> selectSites(const RewritePass &pass, const Step &step);
  Remark remarkAt(const PassInfo &info, const Found &found, unsigned number,
                  const PassOptions &values) const;
  /// Why \p site may not be touched, if a comment says so.
  std::optional<std::string> suppressedAt(const PassInfo &info, const Site &site) const;
  std::optional<std::string> suppressedKernel(const PassInfo &info, llvm::StringRef name) const;
  std::optional<std::string> suppressedEdit(const PassInfo &info, const Edits &edits) const;
};

} // namespace kbopt

#endif // KBOPT_LIB_PIPELINE_SESSIONSTATE_H
