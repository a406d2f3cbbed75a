//===- CaseRuns.cpp - Images, plans and runs of the two programs ----------===//
#include "JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace llvm;

namespace kbopt {

/// Outputs of a candidate's run that are kept until its verdict, in bytes.
static constexpr uint64_t largestKeptRun = uint64_t(1) << 20;

CaseSource::~CaseSource() = default;
Tolerance CaseSource::tolerance(const TestCase &test, unsigned output) { return {}; }

Expected<RecordedPlan> readRecordedPlan(StringRef folder) {
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(folder.str(), error);
  if (!plan)
    return make_error<StoreError>(error);
  RecordedPlan recorded{std::move(*plan), ""};
  std::string path = (folder + "/" + kbrt::dataFileName).str();
  if (!realFileSystem().exists(path))
    return recorded;
  Expected<std::string> bytes = realFileSystem().read(path);
  if (!bytes)
    return bytes.takeError();
  recorded.data = std::move(*bytes);
  return recorded;
}

Expected<std::vector<OutputSpec>> outputSpecs(StringRef folder) {
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(folder.str(), error);
  if (!plan)
    return make_error<StoreError>(error);
  std::vector<OutputSpec> specs;
  for (const kbrt::Step &step : plan->steps) {
    const auto *read = std::get_if<kbrt::ReadStep>(&step);
    if (!read)
      continue;
    const kbrt::Buffer &buffer = plan->buffers[read->from.at.buffer];
    OutputSpec spec;
    spec.name = buffer.symbol.empty() ? "output " + std::to_string(specs.size()) : buffer.symbol;
    spec.bytes = read->from.bytes();
    spec.type = buffer.element;
    // A region that cuts elements in two has no type of its own.
    uint64_t width = kbrt::elementBytes(spec.type);
    if (width && (read->from.at.offset % width || read->from.width % width))
      spec.type = kbrt::ElementType::Unknown;
    specs.push_back(std::move(spec));
  }
  return specs;
}

RunOptions Judge::Impl::runOptions() const {
  RunOptions result;
  result.wallSeconds = options.secondsPerRun;
  result.memoryBytes = options.memoryBytes;
  return result;
}

Expected<const DeviceCode &> Judge::Impl::code(const ProgramArtefacts &program) {
  DigestBuilder builder;
  builder.add(program.text).add(program.arch);
  for (const std::string &flag : program.flags)
    builder.add(flag);
  return codes.get(builder.finish(), [&] { return compiler.compile(program); });
}

Expected<const DeviceImage *> Judge::Impl::image(JudgedProgram &program, RunMode mode) {
  Expected<const DeviceImage &> built =
      program.images.get(mode, [&] { return device.build(*program.program, mode); });
  if (!built)
    return built.takeError();
  return &*built;
}

Expected<std::string> Judge::Impl::plan(JudgedProgram &program, const TestCase &test) {
  Expected<const std::string &> folder = program.plans.get(test.name, [&] {
    return program.isOriginal ? cases.original(test) : cases.candidate(*program.program, test);
  });
  if (!folder)
    return folder.takeError();
  return *folder;
}

Expected<RunPointer> Judge::Impl::run(JudgedProgram &program, const TestCase &test, RunMode mode,
                                      const RunOptions &runOptions) {
  auto compute = [&]() -> Expected<RunPointer> {
    Expected<const DeviceImage *> built = image(program, mode);
    if (!built)
      return built.takeError();
    Expected<std::string> folder = plan(program, test);
    if (!folder)
      return folder.takeError();
    Expected<RunResult> result = device.run(**built, *folder, runOptions);
    if (!result)
      return result.takeError();
    return std::make_shared<const RunResult>(std::move(*result));
  };
  std::string key = formatv("{0}|{1}|{2}|{3}|{4}|{5}|{6}|{7}|{8}", test.name, toString(mode),
                            runOptions.seed, runOptions.memoryPoison, runOptions.sharedPoison,
                            toString(runOptions.rounding), runOptions.sampledBlocks,
                            runOptions.l1Bytes, runOptions.l2Bytes);
  if (!program.isOriginal) {
    // Several gates want the run of the same case; of large results none is worth its memory.
    if (auto found = program.ownRuns.find(key); found != program.ownRuns.end())
      return found->second;
    Expected<RunPointer> run = compute();
    if (!run)
      return run;
    uint64_t bytes = 0;
    for (const std::string &output : (*run)->outputs)
      bytes += output.size();
    if (bytes <= largestKeptRun)
      program.ownRuns.emplace(key, *run);
    return run;
  }
  Expected<const RunPointer &> kept = program.runs.get(key, compute);
  if (!kept)
    return kept.takeError();
  return *kept;
}

Expected<Reference> Judge::Impl::measureReference(const TestCase &test) {
  Expected<std::string> folder = plan(baselineProgram, test);
  if (!folder)
    return folder.takeError();
  Expected<std::vector<OutputSpec>> specs = outputSpecs(*folder);
  if (!specs)
    return specs.takeError();
  Expected<RunPointer> natural = run(baselineProgram, test, RunMode::Plain, runOptions());
  if (!natural)
    return natural.takeError();
  Reference reference{*folder, std::move(*specs), *natural, {},
                      !baseline || baseline->deterministic};
  if (reference.deterministic)
    return reference;
  for (unsigned order = 1; order <= options.shuffles + 1; ++order) {
    RunOptions shuffled = runOptions();
    shuffled.seed = order;
    Expected<RunPointer> again = run(baselineProgram, test, RunMode::Plain, shuffled);
    if (!again)
      return again.takeError();
    if ((*again)->outputs.size() == reference.run->outputs.size())
      reference.spread.push_back(*again);
  }
  return reference;
}

using kbrt::Op;
static constexpr Op additions[] = {Op::FAdd, Op::FFma, Op::DAdd, Op::DFma, Op::HAdd, Op::HFma};
static constexpr Op roundedOperations[] = {Op::FAdd, Op::FMul, Op::FFma, Op::FDiv,
                                           Op::DAdd, Op::DMul, Op::DFma, Op::DDiv,
                                           Op::HAdd, Op::HMul, Op::HFma, Op::Special};

/// The most of \p operations per stored element, or per thread where fewer are
/// stored, in a launch of \p run. Of additions: about the longest sum behind one
/// element. 0: unknown.
static uint64_t perElement(const RunResult &run, ArrayRef<Op> operations) {
  constexpr double elementBytes = 4;
  double longest = 0;
  for (const LaunchRecord &launch : run.launches) {
    if (!launch.counters)
      return 0;
    const kbrt::KernelCounters &counters = *launch.counters;
    double sum = 0;
    for (Op op : operations)
      sum += counters.threadInstructionsByOp[static_cast<size_t>(op)];
    double threads = static_cast<double>(counters.blocks) * counters.threadsPerBlock;
    double stored = counters.globalStore.bytesRequested / elementBytes;
    longest = std::max(longest, sum / std::max({threads, stored, 1.0}));
  }
  return static_cast<uint64_t>(std::ceil(longest));
}

Expected<Reference> Judge::Impl::withRoundings(const TestCase &test, Reference reference) {
  Expected<RunPointer> counted = run(baselineProgram, test, RunMode::Count, runOptions());
  if (!counted)
    return counted.takeError();
  if ((*counted)->status == RunStatus::Ok) {
    reference.reductionLength = perElement(**counted, additions);
    reference.roundings = perElement(**counted, roundedOperations);
  }
  for (Rounding rounding : {Rounding::Up, Rounding::Down, Rounding::Zero}) {
    RunOptions directed = runOptions();
    directed.rounding = rounding;
    Expected<RunPointer> moved = run(baselineProgram, test, RunMode::Plain, directed);
    if (!moved)
      return moved.takeError();
    // Under another rounding a program may take another path and fail; such a
    // run says nothing about rounding.
    if ((*moved)->status == RunStatus::Ok && (*moved)->outputs.size() == reference.outputs.size())
      reference.spread.push_back(*moved);
  }
  return reference;
}

Expected<const Reference *> Judge::Impl::reference(const TestCase &test, bool withSpread) {
  Expected<const Reference &> plain =
      references.get(test.name, [&] { return measureReference(test); });
  if (!plain)
    return plain.takeError();
  if ((!withSpread && plain->deterministic) || plain->run->status != RunStatus::Ok)
    return &*plain;
  Expected<const Reference &> spread =
      spreadReferences.get(test.name, [&] { return withRoundings(test, *plain); });
  if (!spread)
    return spread.takeError();
  return &*spread;
}

TestCase Judge::Impl::recordedCase() {
  std::vector<TestCase> all = cases.cases();
  for (const TestCase &test : all)
    if (test.recorded)
      return test;
  return all.empty() ? TestCase{"recorded", true} : all.front();
}

TestCase Judge::Impl::checkCase() {
  // The first small case that can tell right from wrong; without baseline
  // knowledge the first small one.
  std::vector<TestCase> all = cases.cases();
  if (baseline)
    for (const TestCase &test : baseline->admitted)
      if (test.small && !test.unseen)
        return test;
  for (const TestCase &test : all)
    if (test.small && !test.unseen && !test.breaks)
      return test;
  return recordedCase();
}

std::vector<TestCase> Judge::Impl::seenCases(unsigned count) {
  std::vector<TestCase> seen;
  TestCase recorded = recordedCase();
  for (const TestCase &test : cases.cases())
    if (!test.unseen && !test.breaks && test.name != recorded.name && seen.size() + 1 < count)
      seen.push_back(test);
  seen.push_back(recorded);
  return seen;
}

std::optional<GateRecord> failureOf(const RunResult &result, GateId gate, StringRef caseName) {
  std::string on = (" on case " + caseName).str();
  std::vector<std::string> defects = result.defects();
  switch (result.status) {
  case RunStatus::Ok: break;
  case RunStatus::Unsupported:
  case RunStatus::Lost:
    return GateRecord::undecided(gate, result.message + on, defects);
  case RunStatus::Timeout:
    return GateRecord::fail(gate, FailureClass::Timeout, result.message + on, defects);
  case RunStatus::OutOfMemory:
    return GateRecord::fail(gate, FailureClass::Constraints, result.message + on, defects);
  case RunStatus::Fault:
    // A check that spoke before the host's processor did knows more.
    if (!defects.empty())
      break;
    return GateRecord::fail(gate, FailureClass::Runtime, result.message + on);
  }
  if (defects.empty())
    return std::nullopt;
  std::string reason = defects.front() + on;
  if (!result.message.empty())
    defects.push_back(result.message);
  return GateRecord::fail(gate, FailureClass::Runtime, std::move(reason), std::move(defects));
}

Expected<GateRecord> blameProgram(Error error, GateId gate, FailureClass failure) {
  std::optional<GateRecord> record;
  Error rest = handleErrors(std::move(error), [&](std::unique_ptr<KbError> kbError) -> Error {
    if (record || kbError->status != ExitStatus::Diagnostics)
      return Error(std::move(kbError));
    std::vector<std::string> details;
    if (kbError->isA(&ToolError::ID)) {
      SmallVector<StringRef, 16> lines;
      StringRef(static_cast<ToolError &>(*kbError).stderrTail).split(lines, '\n', -1, false);
      for (StringRef line : lines)
        details.push_back(line.str());
    }
    record = GateRecord::fail(gate, failure, kbError->message, std::move(details));
    return Error::success();
  });
  if (rest)
    return std::move(rest);
  if (!record)
    return make_error<ToolError>("a gate ended without a result", std::vector<std::string>{}, 0, "");
  return std::move(*record);
}

} // namespace kbopt
