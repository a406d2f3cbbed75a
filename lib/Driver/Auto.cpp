//===- Auto.cpp - -passes=auto --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the run of a search from the program as given to the patch: opens what
// the search needs, tells what happens, and keeps what was learnt.
//
//===----------------------------------------------------------------------===//
#include "HtmlReport.h"
#include "ModelSession.h"
#include "Modes.h"
#include "RecipesOfWin.h"
#include "SearchReport.h"
#include "Session.h"
#include "Version.h"
#include "kb-opt/Policy/Search.h"
#include "kb-opt/Support/Interrupt.h"
#include "kbrt/Database.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"
#include <limits>

using namespace kbopt;

static SearchOptions searchOptions(const Session &session, double startSeconds) {
  const Options &options = session.context.options;
  SearchOptions search;
  search.trajectories = options.trajectories;
  search.steps = options.steps;
  if (options.crossover)
    search.crossover = true;
  search.memory = options.memory;
  search.profile = options.profile;
  search.sketches = options.sketches;
  search.roles = options.roles;
  search.jobs =
      options.jobs ? options.jobs : llvm::heavyweight_hardware_concurrency().compute_thread_count();
  search.seed = options.seed;
  search.budgetCandidates = options.budgetCandidates;
  if (options.budgetSeconds > 0) {
    double spent = session.context.clock.monotonicSeconds() - startSeconds;
    search.budgetSeconds = std::max(0.001, options.budgetSeconds - spent);
    search.giveUpAfter = [](double seconds) {
      endWorkAt(realClock().monotonicSeconds() + seconds);
    };
  }
  search.stop = interrupted;
  search.program = digestOf(session.context.text);
  search.versions = {{"kb-opt", kbOptVersion().str()}};
  return search;
}

/// Keeps what \p result taught; returns how many records are new.
static llvm::Expected<size_t> keepEvidence(Context &context, const KnowledgeBase &knowledge,
                                           const std::string &directory,
                                           const SearchResult &result) {
  const EvidenceSet &known = knowledge.evidence();
  std::vector<Evidence> fresh;
  for (const Evidence &record : result.evidence)
    if (!known.contains(record.id()))
      fresh.push_back(record);
  std::vector<Finding> findings;
  for (const Finding &finding : result.findings)
    if (!known.contains(finding.id()))
      findings.push_back(finding);
  if (fresh.empty() && findings.empty())
    return size_t(0);
  if (!kbrt::isDatabaseUrl(directory))
    if (llvm::Error error = context.files.createDirectories(directory))
      return std::move(error);
  if (llvm::Error error = appendEvidence(context.files, evidenceLog(directory), fresh, findings))
    return std::move(error);
  return fresh.size() + findings.size();
}

/// What \p session's program is searched with: the seed, what comes with kb-opt unless the user
/// does without, and the evidence in \p directory.
static llvm::Expected<KnowledgeBase>
openKnowledge(const Session &session, const std::string &directory, std::vector<BadLine> &bad) {
  FileSystem &files = session.context.files;
  if (session.context.options.shippedKnowledge)
    return loadKnowledge(session.chip, session.timeSource(), files, {directory}, bad);
  auto own = readEvidence(files, evidenceLog(directory), bad);
  if (!own)
    return own.takeError();
  KnowledgeBase knowledge(session.chip, session.timeSource().str());
  knowledge.learn(*own);
  return std::move(knowledge);
}

static llvm::Expected<ExitStatus> search(Context &context) {
  double startSeconds = context.clock.monotonicSeconds();
  // Nothing outlasts the budget: neither the original nor the final check.
  if (context.options.budgetSeconds > 0)
    endWorkAt(realClock().monotonicSeconds() + context.options.budgetSeconds);
  auto strategy = createStrategy(context.options.strategy);
  if (!strategy)
    return strategy.takeError();
  auto model = openModel(context);
  if (!model)
    return model.takeError();
  auto opened = openSession(context);
  if (!opened)
    return opened.takeError();
  Session &session = **opened;
  auto asked = model->model(*session.journal, context.files);
  if (!asked)
    return asked.takeError();
  if (context.options.budgetSeconds > 0)
    session.judge->setSecondsLeft(
        [&clock = context.clock, end = startSeconds + context.options.budgetSeconds] {
          return end - clock.monotonicSeconds();
        });

  std::string directory = context.options.knowledgeDirectory;
  if (directory.empty())
    directory = userKnowledgeDirectory();
  std::vector<BadLine> bad;
  auto knowledge = openKnowledge(session, directory, bad);
  if (!knowledge)
    return knowledge.takeError();
  for (const BadLine &line : bad)
    context.progress.line("warning: " + line.file + ":" + std::to_string(line.line) + ": " +
                          line.reason + "; the line is skipped and stays in the file");

  ProgramEnvironment environment(candidateSetup(session), *asked);
  SearchReport report(session, startSeconds);
  environment.recordEarly();
  // Without a pass that applies there is nothing to judge the original for.
  if (!*asked) {
    auto applies = environment.appliesAnywhere();
    if (!applies)
      return applies.takeError();
    if (!*applies)
      return report.nothingApplies(environment);
  }
  environment.proposeEarly(context.options.memory ? &*knowledge : nullptr);
  std::vector<BadLine> told;
  const size_t shipped =
      context.options.shippedKnowledge ? builtinEvidence(session.timeSource(), told).size() : 0;
  report.opened(knowledge->evidence().size() - shipped, directory);

  auto result = (*strategy)->run(environment, *knowledge, searchOptions(session, startSeconds),
                                 context.clock, &report);
  if (!result)
    return result.takeError();
  if (model->service) {
    report.roles = reportRoles(model->service->perRole());
    context.progress.line("model: " + model->service->total().describe() +
                          (result->modelEnd.empty() ? "" : "; asked no more: " + result->modelEnd));
  }
  auto kept = keepEvidence(context, *knowledge, directory, *result);
  double seconds = context.clock.monotonicSeconds() - startSeconds;
  auto status = report.finish(environment, *session.journal, *result, kept ? *kept : 0,
                              evidenceLog(directory), seconds);
  const uint64_t calls = model->service ? model->service->total().calls : 0;
  if (status && result->confirmed && context.options.memory && context.options.newRecipes)
    keepRecipes(context, *asked, *result, directory,
                context.options.budgetSeconds > 0 ? startSeconds + context.options.budgetSeconds -
                                                        context.clock.monotonicSeconds()
                                                  : std::numeric_limits<double>::infinity());
  if (model->service && model->service->total().calls != calls)
    context.progress.line("model, with recipes: " + model->service->total().describe());
  if (context.options.timePasses)
    context.timings.print(context.err, seconds);
  // The result is written even where there is no place for what it taught.
  if (!kept)
    return llvm::joinErrors(kept.takeError(), status.takeError());
  return status;
}

llvm::Expected<ExitStatus> kbopt::runAuto(Context &context) {
  const double startSeconds = context.clock.monotonicSeconds();
  auto status = search(context);
  if (status || context.text.empty())
    return status;
  if (llvm::Error error = dropInterruptions(status.takeError()))
    return std::move(error);
  // It ended before the original was known to be right.
  if (llvm::Error error = writeProgram(context, context.text))
    return std::move(error);
  context.progress.line(
      isTimeUp()
          ? "stopped: time budget spent before the original was judged; the program stays as it is"
          : "stopped: interrupted; the program stays as it is");
  if (isTimeUp())
    context.progress.line("next: give a smaller problem in a workload (program: {arguments: "
                          "[\"...\"]}), or more time with --budget-seconds");
  if (context.options.timePasses)
    context.timings.print(context.err, context.clock.monotonicSeconds() - startSeconds);
  return ExitStatus::Budget;
}
