//===- SearchReport.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "SearchReport.h"
#include "AttemptText.h"
#include "LockRun.h"
#include "Modes.h"
#include "kb-opt/Report/Diff.h"
#include "kb-opt/Report/RemarkYaml.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace kbopt;
using llvm::formatv;

void SearchReport::opened(size_t records, const std::string &directory) {
  if (records)
    context.progress.detail(
        llvm::formatv("knowledge: {0} records of earlier runs from {1}", records, directory).str());
  else
    context.progress.detail("knowledge: the built-in seed; no evidence yet in " + directory);
}

std::string SearchReport::standing() const {
  uint64_t budget = context.options.budgetCandidates;
  std::string text =
      formatv("best {0:f2} x, {1}{2} candidate{3}", bestUs > 0 ? originalUs / bestUs : 1, judged,
              budget ? formatv(" of {0}", budget).str() : "",
              budget == 1 || (!budget && judged == 1) ? "" : "s");
  if (tokens)
    text += formatv(", {0} tokens, {1}", tokens,
                    cost ? formatv("${0:f2}", *cost).str() : "cost unknown");
  return text;
}

void SearchReport::showStanding() {
  double budget = context.options.budgetSeconds;
  context.progress.head([text = standing(), start = startSeconds, &clock = context.clock, budget] {
    return formatv("{0}, {1:f0}{2} s", text, clock.monotonicSeconds() - start,
                   budget > 0 ? formatv(" of {0:f0}", budget).str() : "")
        .str();
  });
}

void SearchReport::spend(uint64_t more, std::optional<double> dollars) {
  if (!more)
    return;
  tokens += more;
  cost = cost && dollars ? std::optional<double>(*cost + *dollars) : std::nullopt;
  showStanding();
}

void SearchReport::asked(const ProposalRequest &, unsigned, const Proposal &proposal) {
  spend(proposal.tokens, proposal.cost);
}

void SearchReport::reflected(const Reflection &reflection) {
  spend(reflection.tokens, reflection.cost);
}

void SearchReport::started(const NodeJudgement &original) {
  originalUs = bestUs = original.timeUs;
  if (original.verdict == VerdictKind::Screened)
    context.progress.line(formatv("original: {0} {1:f2} us on {2}; its own gates run beside the "
                                  "search",
                                  source(), originalUs, gpu)
                              .str());
  else if (original.verdict == VerdictKind::Correct)
    describeOriginal(original);
  else
    return;
  showStanding();
}

void SearchReport::examined(const NodeJudgement &original) { describeOriginal(original); }

void SearchReport::describeOriginal(const NodeJudgement &original) {
  const State &state = original.state;
  context.progress.line("state: " + state.fullName() +
                        (state.secondary.empty() ? "" : ", then " + state.secondary));
  context.progress.line("  why: " + state.why());
  std::string line = llvm::formatv("  {0} on {1}: {2:f2} us", source(),
                                   gpu.empty() ? chip.name : gpu, original.timeUs);
  if (original.modelledUs > 0)
    line += llvm::formatv(", modelled {0:f2} us", original.modelledUs);
  if (gpu.empty())
    if (const size_t launches = recordedLaunches())
      line +=
          llvm::formatv(", {0:f2} of them for {1} {2}", double(launches) * chip.launchOverheadUs,
                        launches, launches == 1 ? "launch" : "launches");
  if (const double least = original.attainable.us(); least > 0)
    line += llvm::formatv("; no rewrite goes below {0:f2} us", least);
  context.progress.line(line);
}

void SearchReport::attempted(const Attempt &attempt) {
  judged += attempt.judged();
  if (attempt.failure == FailureClass::Idle)
    return;
  const std::string text = attemptText(attempt, source());
  if (attempt.shortcut == "known") // it was said before
    context.progress.status(text);
  else
    context.progress.detail(text);
  showStanding();
}

void SearchReport::disputed(const Attempt &attempt) { context.progress.line(disputeText(attempt)); }

void SearchReport::improved(double timeUs, llvm::ArrayRef<Step> pipeline) {
  bestUs = timeUs;
  context.progress.line(formatv("{0}, {1} {2:f2} us: {3}", standing(), source(), timeUs,
                                pipeline.empty() ? "" : pipeline.back().text())
                            .str());
  showStanding();
}

void SearchReport::proven(double timeUs, llvm::ArrayRef<Step> pipeline) {
  context.progress.detail(
      formatv("proven: {0}, {1} {2:f2} us", printPipeline(pipeline), source(), timeUs).str());
}

void SearchReport::proofDoesNotFit(double seconds, double left) {
  context.progress.line(
      formatv("a proof takes about {0:f0} s, and {1:f0} s of the budget are left: nothing can be "
              "proven; pass --budget-seconds={2:f0}",
              seconds, left, std::ceil(context.options.budgetSeconds + 2 * seconds - left))
          .str());
}

/// "(G4, G7 2 times)", with a space before; empty where nothing names its gate.
static std::string gatesText(const std::map<std::string, uint64_t> &counts) {
  std::vector<std::string> gates;
  for (const auto &[gate, count] : counts)
    if (!gate.empty())
      gates.push_back(gate + (count > 1 ? formatv(" {0} times", count).str() : ""));
  return gates.empty() ? "" : " (" + llvm::join(gates, ", ") + ")";
}

static uint64_t sumOf(const std::map<std::string, uint64_t> &counts) {
  uint64_t sum = 0;
  for (const auto &[gate, count] : counts)
    sum += count;
  return sum;
}

/// "41 screened, 2 proven, 1 refused (G7)".
static std::string countsText(const SearchResult &result) {
  std::string text = formatv("{0} screened, {1} proven", result.screened, result.proven);
  if (const uint64_t refused = sumOf(result.refused))
    text += formatv(", {0} refused{1}", refused, gatesText(result.refused));
  return text;
}

void SearchReport::describeGates(llvm::ArrayRef<GateRecord> gates) {
  unsigned cases = 0;
  std::string passed;
  for (const GateRecord &record : gates)
    if (record.outcome == GateOutcome::Passed) {
      passed += " " + toString(record.gate).str();
      cases += record.cases;
    }
  context.progress.line(
      llvm::formatv("verified: gates{0}, {1} runs compared", passed, cases).str());
  std::string left;
  for (const GateRecord &record : gates)
    if (record.outcome == GateOutcome::NotRun) {
      left += " " + toString(record.gate).str();
      context.progress.detail(("  not run: " + toString(record.gate) + " " +
                               gateTitle(record.gate) + ": " + record.reason)
                                  .str());
    }
  if (!left.empty() && !context.options.verbose)
    context.progress.line("  not run:" + left + "; --verbose says why");
}

void SearchReport::describeGain(ProgramEnvironment &environment, const SearchResult &result) {
  const NodeJudgement &original = result.original;
  auto line = [&](const std::string &text) { context.progress.line(text); };
  line(llvm::formatv("{5}: {0:f2} x faster, {1:f2} -> {2:f2} us, {3} {4}",
                     original.timeUs / result.bestUs, original.timeUs, result.bestUs,
                     gpu.empty() ? "modelled for" : "measured on", gpu.empty() ? chip.name : gpu,
                     result.confirmed ? "result" : "not proven"));
  if (const Promise promise = environment.promise(result.best); promise != Promise::Bitwise)
    line(("  promise: " + promiseName(promise) +
          ", so that results may differ in their last bits; " + "--promise=bitwise keeps every bit")
             .str());
  if (result.unprovenUs > 0)
    line(llvm::formatv("  another program was screened at {0:f2} x and not proven in time",
                       original.timeUs / result.unprovenUs));
  if (original.modelledUs > 0 && result.winner.modelledUs > 0)
    line(llvm::formatv("  modelled for {0}: {1:f2} x", chip.name,
                       original.modelledUs / result.winner.modelledUs));
  std::optional<TimingReport> timing = environment.timing(result.best);
  if (!timing)
    return;
  for (const std::string &each : timingLines(*timing))
    line("  " + each);
}

/// \p text as one word of a shell's command line: names may hold anything.
static std::string shellWord(llvm::StringRef text, bool always = false) {
  auto isPlain = [](char c) {
    return llvm::isAlnum(c) || llvm::StringRef("_@%+=:,./-").contains(c);
  };
  if (!always && !text.empty() && llvm::all_of(text, isPlain))
    return text.str();
  std::string word = "'";
  for (char c : text)
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string SearchReport::replayCommand(llvm::ArrayRef<Step> pipeline) const {
  const Options &options = context.options;
  std::string command = "kb-opt -passes=" + shellWord(printPipeline(pipeline), /*always=*/true);
  if (!options.databaseFolder.empty())
    command += " -p " + shellWord(options.databaseFolder);
  if (!options.object.empty())
    command += " --object=" + shellWord(options.object);
  if (!options.target.empty())
    command += " --target=" + shellWord(options.target);
  command += " " + shellWord(options.input);
  if (options.flags && !options.flags->empty()) {
    command += " --";
    for (const std::string &flag : *options.flags)
      command += " " + shellWord(flag);
  }
  return command;
}

/// What the winning pipeline did, at its places; then everything that was tried.
static llvm::Expected<std::vector<Remark>> remarksOf(Context &context, const SearchResult &result,
                                                     llvm::StringRef source) {
  std::vector<Remark> remarks;
  if (!result.pipeline.empty()) {
    PipelineOptions options;
    options.registry = &context.passes;
    options.parser = &context.parser;
    auto replayed =
        runPipeline(context.text, context.command, printPipeline(result.pipeline), options);
    if (!replayed)
      return replayed.takeError();
    remarks = std::move(replayed->remarks);
  }
  for (const Attempt &attempt : result.attempts) {
    bool applied = attempt.verdict != VerdictKind::NotApplied;
    Remark remark;
    remark.kind = applied ? RemarkKind::Analysis : RemarkKind::Missed;
    remark.pass = attempt.step.pass;
    remark.kernel = attempt.step.kernel;
    remark.file = context.command.shownFile;
    remark.site = attempt.step.site;
    remark.message = applied ? outcomeText(attempt, source) : attempt.reason;
    remark.options.assign(attempt.step.parameters.begin(), attempt.step.parameters.end());
    remarks.push_back(std::move(remark));
  }
  return remarks;
}

llvm::Expected<ExitStatus> SearchReport::nothingApplies(ProgramEnvironment &environment) {
  auto missed = environment.missed();
  if (!missed)
    return missed.takeError();
  context.progress.clear();
  showRemarks(context, *missed);
  context.progress.line(
      "result: no pass applies, so nothing was judged; the program stays as it is");
  if (!context.options.remarksFile.empty())
    if (llvm::Error error = writeRemarks(context, *missed))
      return std::move(error);
  if (llvm::Error error = writeProgram(context, context.text))
    return std::move(error);
  return ExitStatus::Success;
}

llvm::Expected<ExitStatus> SearchReport::finish(ProgramEnvironment &environment,
                                                const Journal &journal, const SearchResult &result,
                                                size_t recordsKept, const std::string &evidenceFile,
                                                double seconds) {
  Progress &progress = context.progress;
  progress.clear();
  const NodeJudgement &original = result.original;
  // Where the time was up before its own gates had ended, nothing was proven.
  if (original.verdict != VerdictKind::Correct && original.verdict != VerdictKind::Screened) {
    // What the recorder says names the program already.
    bool named = llvm::StringRef(original.reason).contains("'" + context.command.shownFile + "'");
    const bool isBlind =
        original.verdict == VerdictKind::Inconclusive && original.gate == GateId::G5;
    const llvm::StringRef advice = adviceOnProgram(original.reason);
    return llvm::make_error<UsageError>(
        (named ? "" : "'" + context.options.input + "': ") + original.reason,
        !advice.empty() ? advice.str()
        : isBlind ? "let the program upload its inputs and read back what depends on them, or "
                    "describe both in a workload (docs/Workloads.md)"
                  : "mend the program, or give it less to do in a workload; kb-opt keeps what is "
                    "right and makes it faster",
        ExitStatus::Diagnostics);
  }

  // Why passes do not apply: said where none does, and in the files for remarks and report.
  std::vector<Remark> missed;
  const bool stopped = result.end == SearchEnd::BudgetCandidates ||
                       result.end == SearchEnd::BudgetSeconds ||
                       result.end == SearchEnd::BudgetModel || result.end == SearchEnd::Interrupted;
  const bool nothingApplied = result.attempts.empty() && !stopped;
  if (nothingApplied || !context.options.remarksFile.empty() ||
      !context.options.reportFile.empty()) {
    auto remarks = environment.missed();
    if (!remarks)
      return remarks.takeError();
    missed = std::move(*remarks);
  }
  if (nothingApplied)
    showRemarks(context, missed);
  const bool found = !result.pipeline.empty();
  // A search that ended before it had timed a candidate found nothing out.
  const bool isEmpty = stopped && !found && !result.timeline.candidate;
  for (const Step &step : result.ablated)
    progress.line("ablation: " + step.text() + " contributes nothing and leaves");
  if (found && result.confirmed)
    describeGates(environment.gates(result.best));
  else if (found)
    progress.line(
        llvm::formatv("not proven: {0} before every gate had passed on every case; the same "
                      "command goes on from here",
                      result.end == SearchEnd::Interrupted ? "the run was stopped"
                                                           : "the time was up")
            .str());
  if (found)
    describeGain(environment, result);
  else if (result.leastUs > 0)
    progress.line(
        llvm::formatv("result: the fastest candidate is {0} {1:f2} x faster, which is less "
                      "than can be told from none ({2:f2} x); the program stays as it is",
                      source(), result.bestUs / result.leastUs, 1 / (1 - environment.leastGain()))
            .str());
  else
    progress.line(
        "result: " + (isEmpty ? "no candidate was timed" : noWinnerText(result.attempts)) +
        "; the program stays as it is");
  for (const std::string &line : refusalLines(result.attempts))
    progress.line(line);
  progress.line(countsText(result));
  for (auto [number, event] : llvm::enumerate(eventsOf(result.timeline, startSeconds)))
    context.timings.add("timeline, seconds from the start",
                        std::to_string(number + 1) + " " + event.first, event.second);
  if (!found && !nothingApplied)
    if (llvm::Error error = describeFailure(environment, result))
      return std::move(error);
  if (result.merged || result.pruned)
    progress.detail(
        llvm::formatv(
            "not judged: {0} with machine code seen before, {1} that the roofline rules out",
            result.merged, result.pruned)
            .str());
  uint64_t answered = 0, computed = 0;
  for (const auto &[kind, counts] : journal.counts()) {
    answered += counts.found;
    computed += counts.computed;
  }
  std::string effects =
      formatv("{0} answered from the journal, {1} carried out", answered, computed);
  std::string evidence = formatv("{0} new records in {1}", recordsKept, evidenceFile);
  progress.detail(formatv("effects: {0}, in {1:f1} s", effects, seconds).str());
  progress.detail("evidence: " + evidence);

  if (found && !result.confirmed && context.options.quiet)
    context.err << "kb-opt: warning: the result is not proven: not every gate has passed on every "
                   "case\n";
  std::string text = found ? environment.text(result.best).str() : context.text;
  // The user's own file gets what passed the final check, and nothing else.
  const bool isProven = !found || result.confirmed, mayWrite = isProven || !context.options.fix;
  if (!mayWrite)
    progress.line(
        "'" + context.command.shownFile +
        "' is left as it is: the final check did not end; the same command goes on from here");
  if (found) {
    progress.line("replay: " + replayCommand(result.pipeline));
    if (context.options.printPipeline)
      context.err << printPipeline(result.pipeline) << "\n";
  }
  if (context.options.lock)
    if (llvm::Error error = lockWinner(session, environment, result))
      return std::move(error);
  if (!context.options.remarksFile.empty()) {
    auto remarks = remarksOf(context, result, source());
    if (!remarks)
      return remarks.takeError();
    llvm::append_range(*remarks, missed);
    if (llvm::Error error = writeRemarks(context, *remarks))
      return std::move(error);
  }
  if (found && context.options.emit == Emit::Diff && !context.options.fix) {
    // Lines before the first header are ignored by patch and by git apply.
    const std::string notes =
        "# " + replayCommand(result.pipeline) + "\n" +
        (result.confirmed ? "" : "# not proven: not every gate has passed on every case\n") +
        ("# promise: " + promiseName(environment.promise(result.best)) + "\n").str();
    const std::string patch = notes + patchText(context, text);
    if (llvm::Error error = writeResult(context, patch))
      return std::move(error);
  } else if (llvm::Error error =
                 writeProgram(context, mayWrite ? llvm::StringRef(text) : context.text)) {
    return std::move(error);
  }
  if (!context.options.reportFile.empty()) {
    ReportInputs inputs;
    inputs.replay = found ? replayCommand(result.pipeline) : "";
    inputs.missed = std::move(missed);
    inputs.evidence = std::move(evidence);
    inputs.effects = std::move(effects);
    inputs.seconds = seconds;
    inputs.counts = countsText(result);
    inputs.startSeconds = startSeconds;
    inputs.roles = roles;
    if (llvm::Error error =
            writeReportFile(context, reportPage(session, environment, result, std::move(inputs))))
      return std::move(error);
    progress.line("report: " + context.options.reportFile);
  }
  if (stopped)
    progress.line(("stopped: " + endName(result.end)).str() +
                  (isEmpty ? "" : "; this is the best so far"));
  return !isProven || isEmpty || result.end == SearchEnd::Interrupted ? ExitStatus::Budget
                                                                      : ExitStatus::Success;
}
