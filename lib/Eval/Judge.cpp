//===- Judge.cpp - The gates in order -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/Judge.h"
#include "JudgeImpl.h"
#include "KeptGates.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <future>

using namespace llvm;

namespace kbopt {

Judge::Judge(ProgramArtefacts original, DeviceCompiler &compiler, Device &device, CaseSource &cases,
             Clock &clock, JudgeOptions options, GpuDevice *gpu)
    : impl(std::make_unique<Impl>(std::move(original), compiler, device, cases, clock, options,
                                  gpu)) {}
Judge::~Judge() = default;

Expected<const BaselineReport &> Judge::baseline() {
  std::lock_guard<std::mutex> lock(impl->baselineMutex);
  if (!impl->baselineComplete) {
    Expected<BaselineReport> report = impl->knownBaseline();
    if (!report)
      return report.takeError();
    impl->baseline = std::move(*report);
    impl->baselineComplete = true;
  }
  return *impl->baseline;
}

void Judge::keepOriginalIn(GateStore *store) { impl->originalStore = store; }

Expected<BaselineReport> Judge::Impl::knownBaseline() {
  if (std::optional<BaselineReport> kept = keptBaseline(originalStore, cases.cases())) {
    Expected<const DeviceCode &> compiled = code(original);
    if (!compiled) {
      consumeError(compiled.takeError());
      return checkBaseline(); // which says whose fault it is
    }
    Expected<RunIdentity> identity = identify();
    if (!identity)
      return identity.takeError();
    kept->code = *compiled;
    if (kept->identity == *identity)
      return std::move(*kept);
  }
  Expected<BaselineReport> report = checkBaseline();
  if (!report || report->problem)
    originalAhead.reset();
  if (report)
    keepBaseline(originalStore, *report);
  return report;
}

std::string Judge::Impl::doesNotFit(StringRef what, double seconds) const {
  return formatv("{0} takes about {1:f0} s, and {2:f0} s are left of the time budget", what,
                 seconds, std::max(0.0, timeLeft()));
}

/// Runs behind a case: the original's, the candidate's, and what it takes to load and compare them.
/// Other roundings are seldom asked for.
static constexpr double runsPerCase = 4;
/// Of the time left they may take so much; loading a program and its inputs takes a run at least so
/// long.
static constexpr double casesShare = 0.4, leastRunSeconds = 0.02;

/// With less time left the sanitizer waits for its turn, and may be left out.
static constexpr double leastForSanitizer = 30;

/// Of all cases together; each is made, run and compared once for every candidate of a final check.
static constexpr double mostCaseBytes = 4.0 * (1 << 30);

unsigned Judge::Impl::caseCount(JudgeEffort effort, std::string &omitted) {
  const unsigned least = options.searchCases + 1, most = std::max(least, options.maxCases);
  if (effort == JudgeEffort::Search)
    return least;
  Expected<const PlanFacts &> plan = facts(baselineProgram, recordedCase());
  Expected<const Reference *> own = reference(recordedCase(), Spread::None);
  if (!plan || !own) {
    consumeError(joinErrors(plan.takeError(), own.takeError())); // the gates say it
    return least;
  }
  const double seconds = runsPerCase * std::max((*own)->run->wallSeconds, leastRunSeconds);
  const double byTime = std::max(0.0, casesShare * timeLeft() / seconds),
               byData = mostCaseBytes / std::max(1.0, plan->bufferBytes);
  const unsigned count = std::clamp(
      static_cast<unsigned>(std::min<double>({byTime, byData, double(most)})), least, most);
  const size_t all = seenCases(options.maxCases).size();
  if (all > count)
    omitted =
        byTime < byData
            ? formatv(
                  "{0} further cases do not fit into the {1:f0} s that are left of the time budget",
                  all - count, std::max(0.0, timeLeft()))
                  .str()
            : formatv("{0} further cases are left out: each has {1:f0} MiB of data", all - count,
                      plan->bufferBytes / (1 << 20))
                  .str();
  return count;
}

void Judge::Impl::beginSpread(unsigned count, Spread spread) {
  if (!gpu || !secondsLeft || options.threads <= 1 || spreadBegun.exchange(true))
    return;
  earlySpread =
      std::async(std::launch::async, [this, count, spread] { measureTogether(count, spread); });
}

void Judge::setSecondsLeft(std::function<double()> left) { impl->secondsLeft = std::move(left); }
double Judge::secondsLeft() const { return impl->timeLeft(); }

Expected<const TimingReport &> Judge::originalTiming() { return impl->ownTiming(0); }

Expected<const GpuProfile &> Judge::originalProfile() { return impl->profile(); }

Expected<const DeviceCode &> Judge::code(const ProgramArtefacts &program) {
  return impl->code(program);
}

/// The original's own state is kept; a candidate's is made for this call.
static JudgedProgram &select(Judge::Impl &impl, JudgedProgram &fresh,
                             const ProgramArtefacts &program) {
  if (program.text == impl.original.text && program.flags == impl.original.flags)
    return impl.baselineProgram;
  fresh.program = &program;
  return fresh;
}

Expected<Digest> Judge::measurementKey(const ProgramArtefacts &program) {
  Expected<const DeviceCode &> compiled = impl->code(program);
  if (!compiled)
    return compiled.takeError();
  JudgedProgram fresh;
  JudgedProgram &side = select(*impl, fresh, program);
  Expected<const PlanFacts &> facts = impl->facts(side, impl->recordedCase());
  if (!facts)
    return facts.takeError();
  return DigestBuilder().add(compiled->digest).add(facts->launches).finish();
}

Expected<RunResult> Judge::count(const ProgramArtefacts &program, RunOptions options) {
  JudgedProgram fresh;
  JudgedProgram &side = select(*impl, fresh, program);
  RunOptions limits = impl->cpuOptions(side);
  options.wallSeconds = limits.wallSeconds;
  options.memoryBytes = limits.memoryBytes;
  Expected<RunPointer> run = impl->run(side, impl->recordedCase(), RunMode::Count, options);
  if (!run)
    return run.takeError();
  return **run;
}

/// The precisions that G3 lets pass: those that the passes declare, and all of them where a pass
/// promises lower precision and the workload's owner states the differences that are accepted.
static std::set<std::string> declaredPrecisions(const CandidatePromise &promise,
                                                CaseSource &cases) {
  std::set<std::string> declared = promise.declares;
  if (promise.result != Promise::Bitwise)
    declared.insert({"ex2", "rsqrt"});
  if (promise.result != Promise::LowerPrecision)
    return declared;
  for (const TestCase &test : cases.cases()) {
    Tolerance stated = cases.tolerance(test, 0);
    if (stated.relative > 0 || stated.absolute > 0)
      declared.insert({"half", "bf16", "tf32", "fp8", "approx"});
    break;
  }
  return declared;
}

Expected<Verdict> Judge::judge(const ProgramArtefacts &candidate, ArrayRef<JudgedStep> steps,
                               const CandidatePromise &promise) {
  return judge(candidate, steps, promise, impl->options.effort);
}

/// Whether factors are rounded to tf32 somewhere.
static bool usesTf32(const PtxCensus &census) {
  return llvm::any_of(census.functions, [](const auto &function) {
    return llvm::any_of(function.second.narrowOpcodes,
                        [](const auto &each) { return StringRef(each.first).contains("tf32"); });
  });
}

/// Compiles the candidate and describes what changed.
static Expected<GateRecord> runCompile(GateContext &context, const DeviceCode *&code) {
  Judge::Impl &judge = context.judge;
  Expected<const DeviceCode &> compiled = judge.code(*context.candidate.program);
  if (!compiled)
    return blameProgram(compiled.takeError(), GateId::G1, FailureClass::Compile);
  code = &*compiled;
  GateRecord record = GateRecord::pass(GateId::G1);
  Expected<const DeviceCode &> original = judge.code(judge.original);
  if (!original)
    return original.takeError();
  for (const auto &[name, kernel] : code->kernels) {
    std::string line = name + ":";
    if (kernel.registers)
      line += formatv(" {0} registers, {1} bytes shared, {2} bytes spilled", *kernel.registers,
                      kernel.sharedBytes.value_or(0),
                      kernel.spillStoreBytes.value_or(0) + kernel.spillLoadBytes.value_or(0));
    auto before = original->kernels.find(name);
    if (before != original->kernels.end() && before->second.code == kernel.code)
      line += " (same machine code as the original)";
    record.details.push_back(std::move(line));
  }
  record.details.push_back("compiled by " + code->producer);
  if (const std::set<std::string> &others = context.candidate.program->otherArchs; !others.empty())
    record.details.push_back("judged for " + context.candidate.program->arch +
                             " alone; not judged: " + join(others, ", ") +
                             ", which the flags name as well");
  if (code->digest == original->digest)
    record.reason = "identical machine code";
  return record;
}

/// A kernel that waits for another block ends on a GPU only where it waits for blocks that have
/// begun. What ends while blocks run one after the other in any order does; where \p checks did not
/// see that, it is unknown.
static Expected<GateRecord> checkSpins(Expected<GateRecord> checks, const PtxCensus &before,
                                       const PtxCensus &after) {
  if (!checks || checks->outcome != GateOutcome::NotRun)
    return checks;
  const std::string kernel = addedSpin(before, after);
  if (kernel.empty())
    return checks;
  return GateRecord::undecided(
      GateId::G4, kernel +
                      " waits for other threads in a loop, and whether they have begun "
                      "is not known: " +
                      checks->reason);
}

/// G0 to G3 of one candidate: what needs no run.
class StaticGates {
public:
  StaticGates(GateContext &context, ArrayRef<JudgedStep> steps, const CandidatePromise &promise,
              CandidatePromise &held)
      : context(context), steps(steps), promise(promise), held(held) {}

  Expected<GateRecord> provenance() { return runProvenance(context, steps); }
  Expected<GateRecord> compile() { return runCompile(context, code); }
  Expected<GateRecord> denyList() {
    if (Error error = takeCensus())
      return std::move(error);
    std::set<std::string> let = promise.declares;
    let.insert("spin"); // G4 runs the blocks one after the other, in other orders
    GateRecord record = checkDenyList(*before, *after, let, &context.ownCounters);
    for (const auto &[name, bytes] : context.ownCounters)
      record.details.push_back(
          formatv("new mutable global variable {0}: launches must leave it as it is (G8)", name));
    return record;
  }
  Expected<GateRecord> precision() {
    if (Error error = takeCensus())
      return std::move(error);
    const std::set<std::string> declared = declaredPrecisions(promise, context.judge.cases);
    if (declared.count("tf32") && usesTf32(*after) && !usesTf32(*before))
      held.declares.insert("tf32");
    return checkPrecision(*before, *after, declared);
  }

  std::optional<PtxCensus> before, after; ///< from `denyList` on

private:
  Error takeCensus() {
    if (before)
      return Error::success();
    Expected<const DeviceCode &> original = context.judge.code(context.judge.original);
    if (!original)
      return original.takeError();
    before = takePtxCensus(original->ptx);
    after = takePtxCensus(code->ptx);
    return Error::success();
  }

  GateContext &context;
  ArrayRef<JudgedStep> steps;
  const CandidatePromise &promise;
  CandidatePromise &held; ///< with the precision that G3 lets pass
  const DeviceCode *code = nullptr;
};

Expected<Verdict> Judge::inspect(const ProgramArtefacts &candidate, ArrayRef<JudgedStep> steps,
                                 const CandidatePromise &promise) {
  Verdict verdict;
  verdict.kind = VerdictKind::Correct;
  JudgedProgram program(candidate, impl->keptBytes);
  CandidatePromise held = promise;
  GateContext context{*impl, program, held, JudgeEffort::Search, 0, Spread::None};
  context.isRun = false;
  StaticGates gates(context, steps, promise, held);
  for (auto gate : {&StaticGates::provenance, &StaticGates::compile, &StaticGates::denyList,
                    &StaticGates::precision}) {
    Expected<GateRecord> record = (gates.*gate)();
    if (!record)
      return record.takeError();
    const bool stops = record->stops();
    verdict.add(std::move(*record));
    if (stops)
      break;
  }
  return verdict;
}

Expected<Verdict> Judge::examine(const ProgramArtefacts &candidate, const CandidatePromise &promise,
                                 bool whole) {
  Verdict verdict;
  verdict.kind = VerdictKind::Correct;
  Expected<const BaselineReport &> known = baseline();
  if (!known)
    return known.takeError();
  JudgedProgram program(candidate, impl->keptBytes);
  std::string omitted;
  const unsigned caseCount = impl->caseCount(JudgeEffort::Final, omitted);
  GateContext context{*impl,
                      program,
                      promise,
                      JudgeEffort::Final,
                      caseCount,
                      spreadFor(promise),
                      std::move(omitted)};
  for (auto *gate : {&runBreadth, &runWholeProgram}) {
    if (gate == &runWholeProgram && !whole)
      break;
    Expected<GateRecord> record = gate(context);
    if (!record)
      return record.takeError();
    const bool stops = record->stops();
    verdict.add(std::move(*record));
    if (stops)
      break;
  }
  return verdict;
}

Expected<Verdict> Judge::judge(const ProgramArtefacts &candidate, ArrayRef<JudgedStep> steps,
                               const CandidatePromise &promise, JudgeEffort effort,
                               GateStore *store) {
  Verdict verdict;
  verdict.kind = VerdictKind::Correct;
  Expected<const BaselineReport &> known = baseline();
  if (!known)
    return known.takeError();
  if (known->problem) {
    verdict.add(*known->problem);
    return verdict;
  }
  // A winner is judged by the machine code that its user will run.
  ProgramArtefacts artefacts = candidate;
  artefacts.exactly = effort == JudgeEffort::Final && impl->options.exactCode;
  JudgedProgram program(artefacts, impl->keptBytes);
  const bool isStrict = promise.result != Promise::Bitwise && known->deterministic;
  std::string omitted;
  const unsigned caseCount = impl->caseCount(effort, omitted);
  CandidatePromise held = promise; // with the precision that G3 lets pass
  GateContext context{*impl,
                      program,
                      held,
                      effort,
                      caseCount,
                      isStrict ? Spread::Counted : spreadFor(promise),
                      std::move(omitted)};
  StaticGates statics(context, steps, promise, held);
  const bool final = effort == JudgeEffort::Final;
  auto later = [](GateId gate) { return GateRecord::notRun(gate, "left to the final check"); };
  using Gate = Expected<GateRecord> (*)(GateContext &);
  auto onGpu = [&](GateId gate, bool leftToFinal, Gate run) -> Expected<GateRecord> {
    if (!impl->gpu)
      return GateRecord::notRun(gate, gate == GateId::G9
                                          ? "G4's checks stand in for it; needs a GPU"
                                          : "the CPU device has no such check; needs a GPU");
    return leftToFinal && !final ? Expected<GateRecord>(later(gate)) : run(context);
  };
  struct GateStep {
    GateId gate;
    std::function<Expected<GateRecord>()> run;
  };
  const GateStep gates[] = {
      {GateId::G0, [&] { return statics.provenance(); }},
      {GateId::G1, [&] { return statics.compile(); }},
      {GateId::G2, [&] { return statics.denyList(); }},
      {GateId::G3, [&] { return statics.precision(); }},
      {GateId::G4,
       [&] { return checkSpins(runDeviceChecks(context), *statics.before, *statics.after); }},
      {GateId::G5, [&] { return runAdmission(context); }},
      {GateId::G6, [&] { return runNumerics(context); }},
      {GateId::G7, [&] { return runBreadth(context); }},
      {GateId::G8, [&] { return runMemory(context); }},
      {GateId::G9, [&] { return onGpu(GateId::G9, true, runSanitizer); }},
      {GateId::G10, [&] { return runDeterminism(context); }},
      {GateId::G11, [&] { return onGpu(GateId::G11, true, runExecutionAudit); }},
      {GateId::G12, [&] { return onGpu(GateId::G12, false, runTimedOutputs); }},
      {GateId::G13, [&] { return onGpu(GateId::G13, false, runPhysics); }},
      {GateId::G14,
       [&]() -> Expected<GateRecord> {
         return final ? runWholeProgram(context) : Expected<GateRecord>(later(GateId::G14));
       }},
      {GateId::G15,
       [&]() -> Expected<GateRecord> {
         return final ? runUnseenShapes(context) : Expected<GateRecord>(later(GateId::G15));
       }},
  };
  // What the gates from G6 on ask of the GPU is made while the CPU device checks.
  std::future<void> wholeProgram; // its first runs
  std::future<void> watching;     // under the sanitizer, which no gate but its own waits for
  std::optional<RunsAhead> ahead;
  const double start = impl->clock.monotonicSeconds();
  // Runs are made ahead only for gates that ask for them.
  GateContext asIs{*impl, program, held, effort, context.caseCount, context.spread};
  const bool needsRuns = llvm::any_of(ArrayRef{GateId::G6, GateId::G7, GateId::G8, GateId::G10},
                                      [&](GateId gate) { return !keptGate(store, gate, asIs); });
  if (final && isStrict && needsRuns)
    impl->beginSpread(context.caseCount, spreadFor(promise));
  for (const GateStep &step : gates) {
    double begin = impl->clock.monotonicSeconds();
    if (step.gate == GateId::G4 && needsRuns && (impl->gpu || final))
      ahead.emplace(*impl, program, impl->gpuRuns(effort, context.caseCount, promise.assumes), [&] {
        // The GPU would have nothing to do while the CPU device checks.
        if (impl->gpu && final && impl->timeLeft() > leastForSanitizer)
          watching = std::async(std::launch::async, [&context] {
            if (auto watched = sanitizedRun(context); !watched)
              consumeError(watched.takeError()); // the gate says it
          });
      });
    if (step.gate == GateId::G5 && needsRuns)
      impl->measureTogether(context.caseCount, context.spread);
    if (step.gate == GateId::G6 && ahead)
      ahead->wait();
    // A host may compute for seconds: it does so beside the other gates.
    if (step.gate == GateId::G4 && final && impl->gpu && impl->options.threads > 1 &&
        !keptGate(store, GateId::G14, context))
      wholeProgram = std::async(std::launch::async, [&context] { runWholeProgramAhead(context); });
    if (impl->options.totalSeconds > 0 && begin - start > impl->options.totalSeconds) {
      verdict.add(GateRecord::undecided(
          step.gate, formatv("no verdict within {0:f0} s", impl->options.totalSeconds)));
      return verdict;
    }
    if (onProgress)
      onProgress((toString(step.gate) + " " + gateTitle(step.gate)).str());
    std::optional<GateRecord> kept;
    if (step.gate >= GateId::G4)
      kept = keptGate(store, step.gate, context);
    Expected<GateRecord> record = kept ? Expected<GateRecord>(std::move(*kept)) : step.run();
    if (!record)
      return record.takeError();
    if (!kept) {
      record->seconds = impl->clock.monotonicSeconds() - begin;
      if (step.gate >= GateId::G4)
        keepGate(store, *record, context);
    }
    bool stops = record->stops();
    verdict.timing = context.timing;
    verdict.add(std::move(*record));
    if (stops)
      return verdict;
  }
  return verdict;
}

} // namespace kbopt
