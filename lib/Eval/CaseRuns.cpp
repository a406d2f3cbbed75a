//===- CaseRuns.cpp - Images, plans and runs of the two programs ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FreeSpace.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace llvm;

namespace kbopt {

char CannotFollow::ID;
CaseSource::~CaseSource() = default;
void CaseSource::lessen(const TestCase &) {}
bool CaseSource::hasOwnHost(const ProgramArtefacts &) { return false; }
Expected<CaseSource::WholeRun> CaseSource::fedHost(const ProgramArtefacts &) {
  return make_error<UsageError>("no host is fed");
}
Expected<CaseSource::WholeRun> CaseSource::originalHost(unsigned) {
  return make_error<UsageError>("no host is fed");
}
Expected<std::vector<std::string>> CaseSource::branchesNotTaken(const ProgramArtefacts &) {
  return std::vector<std::string>();
}
Expected<bool> CaseSource::asksDevice(const ProgramArtefacts &) { return true; }
Expected<std::vector<ChangeableUpload>> CaseSource::changeableUploads() {
  return std::vector<ChangeableUpload>();
}
Error CaseSource::writeChanged(const ProgramArtefacts &, ArrayRef<InputChange>,
                               const std::string &) {
  return make_error<UsageError>("no inputs are changed");
}
std::optional<TestCase> CaseSource::changedCase(ArrayRef<InputChange>) { return std::nullopt; }
bool CaseSource::readsOtherwise(const ProgramArtefacts &) { return false; }
Expected<CaseSource::HostRun> CaseSource::runAgain(const ProgramArtefacts &, const TestCase &,
                                                   const std::string &) {
  return make_error<UsageError>("no host runs again");
}
Expected<std::string> CaseSource::candidateElsewhere(const ProgramArtefacts &program,
                                                     const TestCase &recorded,
                                                     const OtherDevice &) {
  return candidate(program, recorded);
}
Tolerance CaseSource::tolerance(const TestCase &test, unsigned output) { return {}; }

Digest launchDigest(const kbrt::Plan &plan) {
  DigestBuilder builder;
  for (const kbrt::Step &step : plan.steps)
    if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step)) {
      builder.add(launch->kernel);
      for (const kbrt::Dim3 &dim : {launch->grid, launch->block})
        builder.add(dim.x).add(dim.y).add(dim.z);
      builder.add(launch->sharedBytes);
    } else {
      builder.add(kbrt::stepName(step));
    }
  return builder.finish();
}

RunOptions Judge::Impl::runOptions() const {
  RunOptions result;
  result.wallSeconds = options.secondsPerRun;
  // A GPU says by itself what does not fit.
  result.memoryBytes = gpu ? std::numeric_limits<int64_t>::max() : options.memoryBytes;
  return result;
}

Expected<const DeviceCode &> Judge::Impl::code(const ProgramArtefacts &program) {
  DigestBuilder builder;
  builder.add(program.text).add(program.arch).add(program.exactly);
  for (const std::string &flag : program.flags)
    builder.add(flag);
  return codes.get(builder.finish(), [&] { return compiler.compileFor(program); });
}

Device &Judge::Impl::deviceFor(RunMode mode, Where where) {
  if (gpu && mode == RunMode::Plain && where == Where::Usual)
    return *gpu;
  return device;
}

Expected<const DeviceImage *> Judge::Impl::image(JudgedProgram &program, RunMode mode,
                                                 Where where) {
  Device &on = deviceFor(mode, where);
  Expected<const DeviceImage &> built =
      program.images.get({&on, mode}, [&] { return on.build(*program.program, mode); });
  if (!built)
    return built.takeError();
  return &*built;
}

Expected<std::string> Judge::Impl::writeCopy(const kbrt::Plan &plan, StringRef data) {
  Expected<std::string> folder = scratchFile("plan" + std::to_string(scratchCount++));
  if (!folder)
    return folder.takeError();
  if (Error failure = realFileSystem().createDirectories(*folder))
    return std::move(failure);
  std::string error;
  if (!kbrt::writePlan(plan, *folder, error))
    return make_error<StoreError>(error);
  if (Error failure = realFileSystem().write(*folder + "/" + kbrt::dataFileName, data))
    return std::move(failure);
  return *folder;
}

Expected<std::string> Judge::Impl::scratchFile(StringRef name) {
  Expected<const TemporaryDirectory &> folder =
      scratch.get(0, [] { return TemporaryDirectory::create("kb-judge"); });
  if (!folder)
    return folder.takeError();
  return folder->file(name);
}

Expected<std::string> Judge::Impl::plan(JudgedProgram &program, const TestCase &test) {
  Expected<const std::string &> folder =
      program.plans.get(test.name, [&]() -> Expected<std::string> {
        TimedPart timed = this->timed("plan", test);
        if (test.remakes)
          return remadePlan(program);
        if (!test.runsAgainOn.empty()) {
          Expected<const CaseSource::HostRun &> again = hostAgain(program, test);
          return again ? Expected<std::string>(again->folder) : again.takeError();
        }
        if (test.elsewhere)
          return program.isOriginal
                     ? plan(program, recordedCase())
                     : cases.candidateElsewhere(*program.program, recordedCase(), *test.elsewhere);
        if (program.isOriginal)
          return finitePlan(test);
        // How large its inputs are is decided by the original.
        if (test.mostLessenings > 0)
          if (Expected<std::string> own = plan(baselineProgram, test); !own)
            return own.takeError();
        return cases.candidate(*program.program, test);
      });
  if (!folder)
    return folder.takeError();
  return *folder;
}

/// Elements that are not finite, or so large that another order of some terms may not be; of
/// results that the program reads more than once those of one.
static uint64_t countLarge(ArrayRef<OutputSpec> specs, const RunResult &run) {
  uint64_t count = 0;
  std::set<const char *> counted;
  for (size_t i = 0; i < specs.size() && i < run.outputs.size(); ++i)
    if (counted.insert(run.outputs[i].data()).second)
      count += largeElements(specs[i].type, bytesOf(run.outputs[i]));
  return count;
}

/// Inputs on which sums overflow tell nothing: right orders of the terms end in different
/// infinities, and whatever overflows looks like them.
Expected<std::string> Judge::Impl::finitePlan(const TestCase &test) {
  Expected<std::string> folder = cases.original(test);
  if (!folder || test.mostLessenings == 0)
    return folder;
  Expected<const DeviceImage *> built = image(baselineProgram, RunMode::Plain);
  if (!built)
    return built.takeError();
  Expected<std::vector<OutputSpec>> specs = outputSpecs(*folder);
  if (!specs)
    return specs.takeError();
  // What it gives on its own inputs and on small ones, it gives by intent.
  uint64_t usual = 0;
  std::vector<TestCase> others = {recordedCase()};
  for (const TestCase &other : cases.cases())
    if (other.variesRecorded && other.mostLessenings == 0 && others.size() < 2)
      others.push_back(other);
  for (const TestCase &other : others) {
    Expected<RunPointer> run = this->run(baselineProgram, other, RunMode::Plain, runOptions());
    if (!run)
      return run.takeError();
    usual = std::max(usual, countLarge(*specs, **run));
  }
  for (unsigned lessenings = 0;; ++lessenings) {
    Expected<RunResult> result =
        deviceFor(RunMode::Plain, Where::Usual).run(**built, *folder, runOptions());
    if (!result)
      return result.takeError();
    if (result->status != RunStatus::Ok || lessenings == test.mostLessenings ||
        countLarge(*specs, *result) <= usual) {
      std::lock_guard<std::mutex> lock(trialsMutex);
      trials[test.name] = std::make_shared<const RunResult>(std::move(*result));
      return folder;
    }
    cases.lessen(test);
    folder = cases.original(test);
    if (!folder)
      return folder;
  }
}

Expected<GpuSubject> Judge::Impl::subject(JudgedProgram &program, const TestCase &test) {
  Expected<const DeviceImage *> built = image(program, RunMode::Plain);
  if (!built)
    return built.takeError();
  Expected<std::string> folder = plan(program, test);
  if (!folder)
    return folder.takeError();
  return GpuSubject{(*built)->path, *folder};
}

Expected<const PlanFacts &> Judge::Impl::facts(JudgedProgram &program, const TestCase &test) {
  // Its own plan need not be made to know them.
  if (test.variesRecorded)
    return facts(program, recordedCase());
  return program.facts.get(test.name, [&]() -> Expected<PlanFacts> {
    Expected<std::string> folder = plan(program, test);
    if (!folder)
      return folder.takeError();
    std::string error;
    std::optional<kbrt::Plan> read = kbrt::readPlan(*folder, error);
    if (!read)
      return make_error<StoreError>(error);
    PlanFacts result;
    result.outputBytes = kbrt::observableBytes(*read);
    result.launches = launchDigest(*read);
    result.steps = read->steps.size();
    for (const kbrt::Buffer &buffer : read->buffers)
      result.bufferBytes += buffer.bytes;
    result.work += result.bufferBytes;
    for (const kbrt::Step &step : read->steps)
      if (const auto *bytes = std::get_if<kbrt::ReadStep>(&step))
        result.readBytes.push_back(bytes->from.bytes());
      else if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step)) {
        double threads = 1;
        for (const kbrt::Dim3 &dim : {launch->grid, launch->block})
          threads *= static_cast<double>(dim.x) * dim.y * dim.z;
        result.work += threads;
      }
    return result;
  });
}

JudgedProgram::~JudgedProgram() {
  if (allKept)
    *allKept -= keptBytes;
  for (const std::string &folder : folders)
    (void)sys::fs::remove_directories(folder);
}

/// Runs with outputs of so many bytes are always kept: the original's for good, a candidate's
/// until its verdict. Larger ones are as long as all of them together are not too much.
static constexpr uint64_t smallRun = uint64_t(1) << 20;

/// 16 GiB, or a quarter of the memory that is left when the first is kept: several searches may
/// run beside each other.
static uint64_t mostKept() {
  static const uint64_t most = std::min(uint64_t(16) << 30, availableMemory() / 4);
  return most;
}

bool Judge::Impl::mayKeep(const JudgedProgram &program, uint64_t bytes) const {
  // A GPU's results that are held already come as their names, and a right candidate's are the
  // original's.
  const uint64_t expected = gpu && !program.isOriginal ? 0 : bytes;
  return bytes <= smallRun || keptBytes + expected <= mostKept();
}

/// Of the outputs of \p run the bytes that are not shared.
static uint64_t ownBytes(const RunResult &run) {
  struct Held {
    long here = 0, everywhere = 0;
    std::map<const char *, uint64_t> parts;
  };
  std::map<const void *, Held> byHolder;
  for (const SharedBytes &output : run.outputs) {
    Held &held = byHolder[output.holder()];
    ++held.here;
    held.everywhere = output.holders();
    held.parts[output.data()] = output.size();
  }
  uint64_t own = 0;
  for (const auto &[holder, held] : byHolder)
    if (held.here == held.everywhere)
      for (const auto &[data, bytes] : held.parts)
        own += bytes;
  return own;
}

/// Of the bytes of \p run those that lie in memory: results that are read more than once are there
/// once.
static double heldShare(const RunResult &run) {
  double held = 0, all = 0;
  std::set<const char *> seen;
  for (const SharedBytes &output : run.outputs) {
    all += static_cast<double>(output.size());
    if (seen.insert(output.data()).second)
      held += static_cast<double>(output.size());
  }
  return all > 0 ? held / all : 1;
}

/// A host may read one result in pieces: what counts is the bytes, in their order.
static void cutAsOriginal(ArrayRef<uint64_t> readBytes, RunResult &result) {
  std::vector<uint64_t> sizes;
  for (const SharedBytes &output : result.outputs)
    sizes.push_back(output.size());
  if (ArrayRef(sizes) == readBytes ||
      std::accumulate(sizes.begin(), sizes.end(), uint64_t(0)) !=
          std::accumulate(readBytes.begin(), readBytes.end(), uint64_t(0)))
    return;
  std::string joined;
  for (const SharedBytes &output : result.outputs)
    joined += output.str();
  const SharedBytes all(std::move(joined));
  result.outputs.clear();
  uint64_t at = 0;
  for (uint64_t bytes : readBytes) {
    result.outputs.push_back(all.slice(at, bytes));
    at += bytes;
  }
}

RunPointer Judge::Impl::takeTrial(const JudgedProgram &program, const RunRequest &request) {
  if (!program.isOriginal || request.audited || request.mode != RunMode::Plain ||
      request.where != Where::Usual || !(request.options == runOptions()))
    return nullptr;
  std::lock_guard<std::mutex> lock(trialsMutex);
  auto found = trials.find(request.test.name);
  if (found == trials.end())
    return nullptr;
  RunPointer trial = std::move(found->second);
  trials.erase(found);
  return trial;
}

/// For a case that asks more, of the original's plain runs and of checked ones, which take about
/// ten times as long. Cases whose plain run takes half of the former do not count (Breadth.cpp).
static constexpr double askedSeconds = 1, askedCheckSeconds = 5;

Expected<bool> Judge::Impl::inputsVary(const TestCase &test) {
  if (!test.variesRecorded && !test.feedsOtherResults && !test.hasOtherSources)
    return true;
  Expected<std::string> folder = plan(baselineProgram, test),
                        recorded = plan(baselineProgram, recordedCase());
  if (!folder || !recorded)
    return joinErrors(folder.takeError(), recorded.takeError());
  if (*folder == *recorded || test.feedsOtherResults)
    return *folder != *recorded;
  TimedPart timed = this->timed("compare inputs", test);
  Expected<RecordedPlan> now = readRecordedPlan(*folder), then = readRecordedPlan(*recorded);
  if (!now || !then)
    return joinErrors(now.takeError(), then.takeError());
  if (now->data() != then->data())
    return true;
  if (!test.hasOtherSources)
    return false;
  Expected<bool> isSame = isSameWork(*recorded, *folder);
  if (!isSame)
    return isSame.takeError();
  return !*isSame;
}

Expected<RunPointer> Judge::Impl::run(JudgedProgram &program, const RunRequest &request) {
  Device &on = deviceFor(request.mode, request.where);
  std::string folder;
  uint64_t outputBytes = 0;
  if (request.audited) {
    Expected<const AuditedPlan &> changed = audited(program, request.test);
    if (!changed)
      return changed.takeError();
    folder = changed->folder;
    outputBytes = changed->outputBytes;
  } else {
    Expected<const PlanFacts &> known = facts(program, request.test);
    if (!known)
      return known.takeError();
    outputBytes = known->outputBytes;
  }
  outputBytes = static_cast<uint64_t>(readShare * static_cast<double>(outputBytes));
  auto compute = [&]() -> Expected<RunPointer> {
    TimedPart timed = this->timed(
        (toString(request.mode) + (request.audited ? " audited" : "")).str(), request.test);
    Expected<const DeviceImage *> built = image(program, request.mode, request.where);
    if (!built)
      return built.takeError();
    if (folder.empty()) {
      Expected<std::string> own = plan(program, request.test);
      if (!own)
        return own.takeError();
      folder = *own;
    }
    if (RunPointer trial = takeTrial(program, request))
      return trial;
    RunOptions limited = request.options;
    // It may well be that the original does not end on it.
    const double asked = request.mode == RunMode::Plain ? askedSeconds : askedCheckSeconds;
    if (request.test.asksMore)
      limited.wallSeconds = std::min(limited.wallSeconds, program.isOriginal ? asked : 5 * asked);
    Expected<RunResult> result = on.run(**built, folder, limited);
    if (!result)
      return result.takeError();
    if (!program.isOriginal && !request.audited) {
      Expected<const PlanFacts &> own = facts(baselineProgram, request.test);
      if (!own)
        return own.takeError();
      cutAsOriginal(own->readBytes, *result);
    }
    if (Error error = excuseMaskedReads(program, request, *result))
      return std::move(error);
    if (Error error = excuseLoadsBesideAtomics(program, request, *result))
      return std::move(error);
    if (request.mode == RunMode::Check && result->status == RunStatus::Ok)
      program.note(result->coverage);
    if (program.isOriginal && request.test.recorded && !request.audited &&
        request.mode == RunMode::Plain)
      readShare = heldShare(*result);
    return std::make_shared<const RunResult>(std::move(*result));
  };
  const RunOptions &options = request.options;
  std::string key =
      formatv("{0}|{1}|{2}|{3}|{4}|{5}|{6}|{7}|{8}|{9}|{10}|{11}", on.name(), request.test.name,
              toString(request.mode), options.seed, options.memoryPoison, options.sharedPoison,
              toString(options.rounding), options.sampledBlocks, options.l1Bytes, options.l2Bytes,
              options.repetitions, request.audited);
  // Several gates want the run of the same case.
  if (request.mode == RunMode::Plain && !program.runs.has(key) && !mayKeep(program, outputBytes))
    return compute();
  Expected<const RunPointer &> kept = program.runs.get(key, [&]() -> Expected<RunPointer> {
    Expected<RunPointer> run = compute();
    if (run && program.allKept) {
      const uint64_t own = ownBytes(**run);
      program.keptBytes += own;
      *program.allKept += own;
    }
    return run;
  });
  if (!kept)
    return kept.takeError();
  return *kept;
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
    if (test.small && !test.unseen && !test.needsConsent())
      return test;
  return recordedCase();
}

std::vector<TestCase> Judge::Impl::seenCases(unsigned count) {
  std::vector<TestCase> seen;
  TestCase recorded = recordedCase();
  for (const TestCase &test : cases.cases())
    if (!test.unseen && !test.needsConsent() && test.name != recorded.name &&
        seen.size() + 1 < count)
      seen.push_back(test);
  seen.push_back(recorded);
  return seen;
}

std::optional<GateRecord> failureOf(const RunResult &result, GateId gate, StringRef caseName) {
  std::string on = (" on case " + caseName).str();
  std::vector<std::string> defects = result.defects();
  switch (result.status) {
  case RunStatus::Ok:
    break;
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
    if (kbError->isA(&CannotFollow::ID)) {
      record = GateRecord::undecided(gate, kbError->message);
      return Error::success();
    }
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
    return make_error<ToolError>("a gate ended without a result", std::vector<std::string>{}, 0,
                                 "");
  return std::move(*record);
}

} // namespace kbopt
