//===- HtmlReport.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HtmlReport.h"
#include "ProfileParts.h"
#include "Version.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Rewrite/PassRegistry.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace kbopt;
using llvm::formatv;

std::vector<std::string> kbopt::timingLines(const TimingReport &timing) {
  std::vector<std::string> lines;
  auto series = [&](llvm::StringRef name, const TimingSeries &s) {
    lines.push_back(formatv(
        "{0}: {1:f2} -> {2:f2} us, {3:f3} x, at least {4:f3} x (95 %); {5} and {6} samples, {7}",
        name, s.baseline.medianUs, s.candidate.medianUs, s.ratio, s.ratioLowerBound,
        s.baseline.samples, s.candidate.samples, s.stop));
  };
  series("cold", timing.cold);
  if (timing.hot)
    series("hot", *timing.hot);
  if (timing.batchedBaselineUs && timing.batchedCandidateUs)
    lines.push_back(formatv("in a graph: {0:f2} -> {1:f2} us; an empty kernel takes {2:f2} us",
                            *timing.batchedBaselineUs, *timing.batchedCandidateUs,
                            timing.emptyKernelUs.value_or(0)));
  return lines;
}

std::vector<ReportRole> kbopt::reportRoles(const std::map<ModelRole, ModelSpend> &spent) {
  std::vector<ReportRole> roles;
  for (const auto &[role, spend] : spent)
    roles.push_back({roleName(role).str(), "", spend.calls, spend.usage.prompt,
                     spend.usage.completion,
                     spend.unpriced ? std::nullopt : std::optional<double>(spend.dollars)});
  return roles;
}

//===-- Attempts ----------------------------------------------------------===//

std::vector<std::pair<std::string, double>> kbopt::eventsOf(const SearchTimeline &timeline,
                                                            double startSeconds) {
  std::vector<std::pair<std::string, double>> events;
  auto add = [&](const char *what, const std::optional<double> &at) {
    if (at)
      events.emplace_back(what, *at - startSeconds);
  };
  add("original recorded and timed", timeline.original);
  add("first candidate timed", timeline.candidate);
  add("first leader", timeline.leader);
  add("first proof", timeline.proof);
  return events;
}

static std::string verdictText(const Attempt &attempt) {
  if (attempt.shortcut == "roofline")
    return "not measured";
  if (attempt.isRefusedProposal())
    return (attempt.failure == FailureClass::None ? "refused" : toString(attempt.failure)).str();
  if (attempt.verdict == VerdictKind::NotApplied)
    return "does not apply";
  std::string text = toString(attempt.verdict).str(), detail = toString(attempt.gate).str();
  if (attempt.failure != FailureClass::None)
    detail += ((detail.empty() ? "" : ", ") + toString(attempt.failure)).str();
  if (!attempt.dispute.empty())
    detail += (detail.empty() ? "" : ", ") + std::string("disputed");
  return detail.empty() ? text : text + " (" + detail + ")";
}

static ReportAttempt toRecord(const Attempt &attempt) {
  ReportAttempt record;
  record.phase = phaseName(attempt.phase).str();
  record.trajectory = attempt.trajectory;
  record.pass = attempt.step.pass;
  record.step = attempt.text();
  record.parent = attempt.parent;
  record.node = attempt.node;
  record.outcome = attempt.verdict;
  record.isRefused = attempt.isRefusedProposal();
  record.verdict = verdictText(attempt);
  record.reason = attempt.reason;
  record.dispute = attempt.dispute;
  if (attempt.shortcut == "identical")
    record.shortcut = "identical machine code, not measured again";
  else if (attempt.shortcut == "known")
    record.shortcut = "a program seen before";
  record.us = attempt.usable() ? attempt.timeUs : 0;
  record.parentUs = attempt.parentTimeUs;
  record.predicted = attempt.phase == AttemptPhase::Search ? std::exp(attempt.predictedGain) : 0;
  record.state = attempt.primary + (attempt.secondary.empty() ? "" : ", then " + attempt.secondary);
  record.repair = attempt.repair > 0;
  record.tokens = attempt.tokens;
  record.dollars = attempt.cost;
  record.judged = attempt.judged();
  return record;
}

//===-- Kernels -----------------------------------------------------------===//

/// Kernels by what the search knows of them; longest first.
static std::vector<KernelPage> kernelsOf(const NodeJudgement &judgement) {
  std::vector<KernelPage> kernels;
  double all = 0;
  for (const auto &[name, figures] : judgement.kernels) {
    KernelPage &kernel = kernels.emplace_back();
    kernel.kernel = name;
    kernel.us = figures.timeUs;
    kernel.metrics = figures.metrics;
    auto metric = [&](const char *key) {
      auto found = figures.metrics.find(key);
      return found == figures.metrics.end() || !std::isfinite(found->second) ? 0 : found->second;
    };
    // The metrics are of one launch, the time is of all.
    double launchUs = metric("gpu__time_duration.sum") / 1000;
    kernel.floorUs = launchUs > 0 ? figures.timeUs * metric("kbopt__floor_us") / launchUs : 0;
    addState(kernel, figures.state);
    all += kernel.us;
  }
  for (KernelPage &kernel : kernels)
    kernel.share = all > 0 ? kernel.us / all : 0;
  llvm::sort(kernels, [](const KernelPage &a, const KernelPage &b) {
    return std::tie(b.us, a.kernel) < std::tie(a.us, b.kernel);
  });
  return kernels;
}

/// The original's launches, limiters and lines, which only a profile of its own knows.
static llvm::Error addProfile(Session &session, ReportPage &page) {
  PipelineOptions options;
  options.registry = &session.context.passes;
  options.parser = &session.context.parser;
  auto rewrites = RewriteSession::create(session.context.text, session.context.command, options);
  if (!rewrites)
    return rewrites.takeError();
  ProfilePage profile;
  auto kernels = profileOriginal(session, (*rewrites)->parsed(), profile);
  if (!kernels)
    return kernels.takeError();
  llvm::append_range(page.limits, profile.limits);
  for (ProfiledKernel &known : *kernels)
    for (KernelPage &kernel : page.kernelsBefore)
      if (kernel.kernel == known.page.kernel) {
        kernel.launch = std::move(known.page.launch);
        kernel.launches = known.page.launches;
        kernel.limiter = std::move(known.page.limiter);
        kernel.measure = std::move(known.page.measure);
        kernel.lines = std::move(known.page.lines);
      }
  return llvm::Error::success();
}

static void addKernels(Session &session, const SearchResult &result, ReportPage &page) {
  page.kernelsBefore = kernelsOf(result.original);
  if (page.found)
    page.kernelsAfter = kernelsOf(result.winner);
  if (interrupted()) {
    page.limits.push_back("source lines, launches and limiters: the run was stopped");
    return;
  }
  if (llvm::Error error = addProfile(session, page))
    page.limits.push_back("source lines, launches and limiters: " +
                          llvm::toString(std::move(error)));
}

static ReportCeilings ceilingsOf(const ChipInfo &chip, const ReportPage &page) {
  ReportCeilings ceilings;
  ceilings.bytes = {{"DRAM", chip.dramBytesPerSecond},
                    {"L2", chip.l2BytesPerSecond},
                    {"L1", 128 * chip.rate(chip.lsuWavefrontsPerClock)}};
  llvm::erase_if(ceilings.bytes,
                 [](const ReportCeiling &ceiling) { return ceiling.perSecond <= 0; });
  auto uses = [&](const char *type) {
    for (const auto *kernels : {&page.kernelsBefore, &page.kernelsAfter})
      for (const KernelPage &kernel : *kernels)
        for (const char *operation : {"add", "mul", "fma"}) {
          auto found = kernel.metrics.find(
              formatv("smsp__sass_thread_inst_executed_op_{0}{1}_pred_on.sum", type, operation)
                  .str());
          if (found != kernel.metrics.end() && found->second > 0)
            return true;
        }
    return false;
  };
  auto add = [&](const char *name, double perClock, const char *type) {
    if (perClock > 0 && uses(type))
      ceilings.flops.push_back({name, 2 * chip.rate(perClock)}); // a fused multiply-add is two
  };
  add("fp32", chip.fp32PerClock, "f");
  add("fp64", chip.fp64PerClock, "d");
  add("fp16", chip.fp16PerClock, "h");
  ceilings.warpInstructions = {"issue", chip.rate(chip.schedulersPerSm)};
  return ceilings;
}

static std::vector<ReportLesson> lessonsOf(const SearchResult &result) {
  std::map<Digest, const Evidence *> records;
  for (const Evidence &record : result.evidence)
    records[record.id()] = &record;
  std::vector<ReportLesson> lessons;
  for (const Finding &finding : result.findings) {
    ReportLesson lesson{finding.text, finding.stateName(), finding.pass,
                        finding.chip, finding.role,        {}};
    for (const Digest &id : finding.evidence) {
      ReportEvidence &evidence = lesson.evidence.emplace_back();
      evidence.id = id;
      auto found = records.find(id);
      if (found == records.end())
        continue;
      const Evidence &record = *found->second;
      evidence.pass = record.pass;
      evidence.state = record.primary;
      evidence.verdict = toString(record.verdict).str();
      if (record.achievedGain)
        evidence.gain = std::exp(*record.achievedGain);
    }
    lessons.push_back(std::move(lesson));
  }
  return lessons;
}

//===-- The rest ----------------------------------------------------------===//

static std::vector<std::pair<std::string, std::string>>
factsOf(const Session &session, const SearchResult &result, const ReportInputs &inputs) {
  const Context &context = session.context;
  const Options &options = context.options;
  std::vector<std::pair<std::string, std::string>> facts;
  auto add = [&](const char *name, std::string value) {
    facts.emplace_back(name, std::move(value));
  };
  add("kb-opt", kbOptVersion().str() + ", build " + buildDigest().substr(0, 12));
  add("program", context.command.shownFile + ", digest " + digestOf(context.text).substr(0, 12));
  add("architecture", context.command.arch);
  if (options.flags && !options.flags->empty())
    add("compiler flags", llvm::join(*options.flags, " "));
  if (!session.workload.place.empty())
    add("workload", session.workload.place);
  add("chip", session.chip.product + " (" + session.chip.name + ")");
  add("device", session.gpu
                    ? session.gpuFacts.name + ", driver " +
                          (session.gpuFacts.driver.empty() ? "unknown" : session.gpuFacts.driver)
                    : "the CPU device, times are modelled");
  add("strategy", formatv("{0}, at most {1} trajectories of {2} steps", options.strategy,
                          options.trajectories, options.steps));
  add("seed", std::to_string(options.seed));
  std::string budget =
      options.budgetCandidates ? formatv("{0} candidates", options.budgetCandidates).str() : "";
  if (options.budgetSeconds > 0)
    budget += formatv("{0}{1} s", budget.empty() ? "" : ", ", options.budgetSeconds);
  add("budget", budget.empty() ? "no limit" : budget);
  add("end", formatv("{0} after {1:f1} s, {2}", endName(result.end), inputs.seconds,
                     context.clock.timestamp()));
  add("effects", inputs.effects);
  add("evidence", inputs.evidence);
  return facts;
}

ReportPage kbopt::reportPage(Session &session, ProgramEnvironment &environment,
                             const SearchResult &result, ReportInputs inputs) {
  ReportPage page;
  page.program = session.context.command.shownFile;
  page.chip = session.chip.name;
  page.source = session.gpu ? "measured" : "modelled";
  page.device = session.gpu ? session.gpuFacts.name : "";
  page.originalUs = result.original.timeUs;
  page.bestUs = result.bestUs;
  page.found = !result.pipeline.empty();
  page.confirmed = result.confirmed;
  page.end = endName(result.end).str();
  page.root = environment.root();
  page.winner = result.best;
  if (auto timing = page.found ? environment.timing(result.best) : std::nullopt) {
    page.lowerBound = timing->cold.ratioLowerBound;
    page.timings = timingLines(*timing);
  }
  for (size_t i = 0; i != result.pipeline.size(); ++i) {
    const PassRegistration *pass = builtinPasses().lookup(result.pipeline[i].pass);
    page.steps.push_back({result.pipeline[i].text(), pass ? pass->info->summary.str() : "",
                          i < result.stepGains.size() ? result.stepGains[i] : std::nullopt});
  }
  for (const Step &step : result.ablated)
    page.ablated.push_back(step.text());
  for (const Attempt &attempt : result.attempts)
    page.attempts.push_back(toRecord(attempt));
  page.judged = result.judged;
  page.counts = std::move(inputs.counts);
  page.seconds = inputs.seconds;
  for (const auto &[event, seconds] : eventsOf(result.timeline, inputs.startSeconds))
    page.timeline.emplace_back(event, seconds);
  page.merged = result.merged;
  page.pruned = result.pruned;
  page.known = result.known;
  page.before = session.context.text;
  page.after = page.found ? environment.text(result.best).str() : page.before;
  for (const GateRecord &gate :
       page.confirmed ? environment.gates(result.best) : std::vector<GateRecord>())
    page.gates.push_back({toString(gate.gate).str(), gateTitle(gate.gate).str(),
                          toString(gate.outcome).str(), gate.reason, gate.cases, gate.seconds});
  addKernels(session, result, page);
  page.ceilings = ceilingsOf(session.chip, page);
  page.facts = factsOf(session, result, inputs);
  page.replay = std::move(inputs.replay);
  page.missed = std::move(inputs.missed);
  page.roles = std::move(inputs.roles);
  if (page.roles.empty() && result.asked)
    page.limits.push_back(
        formatv("cost by role; {0} replies took {1} tokens, {2}", result.asked, result.tokens,
                result.costKnown ? formatv("${0:f4}", result.cost).str() : "cost unknown"));
  if (!result.modelEnd.empty())
    page.limits.push_back("more proposals: " + result.modelEnd);
  page.lessons = lessonsOf(result);
  return page;
}

llvm::Error kbopt::writeReportFile(Context &context, const ReportPage &page) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::StringRef(context.options.reportFile).ends_with(".json"))
    writeReportJson(os, page);
  else
    writeReport(os, page);
  return context.files.write(context.options.reportFile, text);
}
