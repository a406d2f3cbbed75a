//===- Judge.cpp - The gates in order -------------------------------------===//
#include "kb-opt/Eval/Judge.h"
#include "JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

Judge::Judge(ProgramArtefacts original, DeviceCompiler &compiler, Device &device,
             CaseSource &cases, Clock &clock, JudgeOptions options)
    : impl(std::make_unique<Impl>(std::move(original), compiler, device, cases, clock, options)) {}
Judge::~Judge() = default;

Expected<const BaselineReport &> Judge::baseline() {
  std::lock_guard<std::mutex> lock(impl->baselineMutex);
  if (!impl->baselineComplete) {
    Expected<BaselineReport> report = impl->checkBaseline();
    if (!report)
      return report.takeError();
    impl->baseline = std::move(*report);
    impl->baselineComplete = true;
  }
  return *impl->baseline;
}

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

static Error addLaunches(StringRef folder, DigestBuilder &builder) {
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(folder.str(), error);
  if (!plan)
    return make_error<StoreError>(error);
  for (const kbrt::Step &step : plan->steps)
    if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step)) {
      builder.add(launch->kernel);
      for (const kbrt::Dim3 &dim : {launch->grid, launch->block})
        builder.add(dim.x).add(dim.y).add(dim.z);
      builder.add(launch->sharedBytes);
    } else {
      builder.add(kbrt::stepName(step));
    }
  return Error::success();
}

Expected<Digest> Judge::measurementKey(const ProgramArtefacts &program) {
  Expected<const DeviceCode &> compiled = impl->code(program);
  if (!compiled)
    return compiled.takeError();
  JudgedProgram fresh;
  JudgedProgram &side = select(*impl, fresh, program);
  Expected<std::string> folder = impl->plan(side, impl->recordedCase());
  if (!folder)
    return folder.takeError();
  DigestBuilder builder;
  builder.add(compiled->digest);
  if (Error error = addLaunches(*folder, builder))
    return std::move(error);
  return builder.finish();
}

Expected<RunResult> Judge::count(const ProgramArtefacts &program, RunOptions options) {
  JudgedProgram fresh;
  JudgedProgram &side = select(*impl, fresh, program);
  options.wallSeconds = impl->options.secondsPerRun;
  options.memoryBytes = impl->options.memoryBytes;
  Expected<RunPointer> run = impl->run(side, impl->recordedCase(), RunMode::Count, options);
  if (!run)
    return run.takeError();
  return **run;
}

Expected<Verdict> Judge::judge(const ProgramArtefacts &candidate,
                               ArrayRef<JudgedStep> steps,
                               const CandidatePromise &promise) {
  return judge(candidate, steps, promise, impl->options.effort);
}

/// Compiles the candidate and describes what changed.
static Expected<GateRecord> runCompile(GateContext &context, const DeviceCode *&code) {
  Judge::Impl &judge = context.judge;
  Expected<const DeviceCode &> compiled = judge.code(*context.candidate.program);
  if (!compiled)
    return blameProgram(compiled.takeError(), GateId::G1, FailureClass::Compile);
  code = &*compiled;
  GateRecord record = GateRecord::pass(GateId::G1);
  for (const auto &[name, kernel] : code->kernels) {
    std::string line = name + ":";
    if (kernel.registers)
      line += formatv(" {0} registers, {1} bytes shared, {2} bytes spilled", *kernel.registers,
                      kernel.sharedBytes.value_or(0),
                      kernel.spillStoreBytes.value_or(0) + kernel.spillLoadBytes.value_or(0));
    auto before = judge.baseline->code.kernels.find(name);
    if (before != judge.baseline->code.kernels.end() && before->second.code == kernel.code)
      line += " (same machine code as the original)";
    record.details.push_back(std::move(line));
  }
  record.details.push_back("compiled by " + code->producer);
  if (code->digest == judge.baseline->code.digest)
    record.reason = "identical machine code";
  return record;
}

Expected<Verdict> Judge::judge(const ProgramArtefacts &candidate,
                               ArrayRef<JudgedStep> steps,
                               const CandidatePromise &promise, JudgeEffort effort) {
  Verdict verdict;
  verdict.kind = VerdictKind::Correct;
  Expected<const BaselineReport &> known = baseline();
  if (!known)
    return known.takeError();
  if (known->problem) {
    verdict.add(*known->problem);
    return verdict;
  }
  JudgedProgram program;
  program.program = &candidate;
  GateContext context{*impl, program, promise, effort};
  const DeviceCode *code = nullptr;
  std::optional<PtxCensus> before, after;
  auto census = [&] {
    if (!before) {
      before = takePtxCensus(known->code.ptx);
      after = takePtxCensus(code->ptx);
    }
  };
  const bool final = effort == JudgeEffort::Final;
  auto later = [](GateId gate) {
    return GateRecord::notRun(gate, "left to the final check");
  };
  const char *needsGpu = "the CPU device has no such check; needs a GPU";
  struct GateStep {
    GateId gate;
    std::function<Expected<GateRecord>()> run;
  };
  const GateStep gates[] = {
      {GateId::G0, [&] { return runProvenance(context, steps); }},
      {GateId::G1, [&] { return runCompile(context, code); }},
      {GateId::G2,
       [&]() -> Expected<GateRecord> {
         census();
         return checkDenyList(*before, *after, promise.declares);
       }},
      {GateId::G3,
       [&]() -> Expected<GateRecord> {
         census();
         return checkPrecision(*before, *after, promise.declares);
       }},
      {GateId::G4, [&] { return runDeviceChecks(context); }},
      {GateId::G5, [&] { return runAdmission(context); }},
      {GateId::G6, [&] { return runNumerics(context); }},
      {GateId::G7, [&] { return runBreadth(context); }},
      {GateId::G8, [&] { return runMemory(context); }},
      {GateId::G9,
       [&]() -> Expected<GateRecord> {
         return GateRecord::notRun(GateId::G9, "G4's checks stand in for it; needs a GPU");
       }},
      {GateId::G10, [&] { return runDeterminism(context); }},
      {GateId::G11, [&]() -> Expected<GateRecord> { return GateRecord::notRun(GateId::G11, needsGpu); }},
      {GateId::G12, [&]() -> Expected<GateRecord> { return GateRecord::notRun(GateId::G12, needsGpu); }},
      {GateId::G13, [&]() -> Expected<GateRecord> { return GateRecord::notRun(GateId::G13, needsGpu); }},
      {GateId::G14,
       [&]() -> Expected<GateRecord> {
         return final ? runWholeProgram(context) : Expected<GateRecord>(later(GateId::G14));
       }},
      {GateId::G15,
       [&]() -> Expected<GateRecord> {
         return final ? runUnseenShapes(context) : Expected<GateRecord>(later(GateId::G15));
       }},
  };
  const double start = impl->clock.monotonicSeconds();
  for (const GateStep &step : gates) {
    double begin = impl->clock.monotonicSeconds();
    if (impl->options.totalSeconds > 0 && begin - start > impl->options.totalSeconds) {
      verdict.add(GateRecord::undecided(
          step.gate, formatv("no verdict within {0:f0} s", impl->options.totalSeconds)));
      return verdict;
    }
    if (onProgress)
      onProgress((toString(step.gate) + " " + gateTitle(step.gate)).str());
    Expected<GateRecord> record = step.run();
    if (!record)
      return record.takeError();
    record->seconds = impl->clock.monotonicSeconds() - begin;
    bool stops = record->stops();
    verdict.add(std::move(*record));
    if (stops)
      return verdict;
  }
  return verdict;
}

} // namespace kbopt
