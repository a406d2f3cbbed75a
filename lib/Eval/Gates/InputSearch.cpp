//===- InputSearch.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "InputSearch.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include <tuple>

using namespace llvm;

namespace kbopt {

/// Of all places of a candidate.
static constexpr unsigned mostRuns = 400, mostRefused = 6, mostFound = 12;
static constexpr double mostSeconds = 6, mostRunSeconds = 1;
/// Of the time left, where there is a limit.
static constexpr double searchShare = 0.1;
/// Plans with more than that are not written again and again.
static constexpr uint64_t mostBytes = uint64_t(128) << 20;

bool InputSearch::hasBudget() const {
  return runs < mostRuns && refused < mostRefused && found < mostFound &&
         seconds < std::min(mostSeconds, searchShare * context.judge.timeLeft());
}

Expected<RunPointer> InputSearch::run(ArrayRef<InputChange> changes) {
  Judge::Impl &judge = context.judge;
  const double start = judge.clock.monotonicSeconds();
  Expected<std::string> folder = judge.scratchFile("search" + std::to_string(judge.scratchCount++));
  if (!folder)
    return folder.takeError();
  if (Error error = realFileSystem().createDirectories(*folder))
    return std::move(error);
  const scope_exit remove([&] { (void)sys::fs::remove_directories(*folder); });
  const ProgramArtefacts &program = *context.candidate.program;
  if (Error error = judge.cases.writeChanged(program, changes, *folder))
    return std::move(error);
  Expected<const DeviceImage *> built = judge.image(context.candidate, RunMode::Search);
  if (!built)
    return built.takeError();
  RunOptions options = judge.cpuOptions(context.candidate);
  options.wallSeconds = std::min(options.wallSeconds, mostRunSeconds);
  Expected<RunResult> result =
      judge.deviceFor(RunMode::Search, Where::Cpu).run(**built, *folder, options);
  if (!result)
    return result.takeError();
  ++runs;
  seconds += judge.clock.monotonicSeconds() - start;
  if (result->status != RunStatus::Ok)
    return RunPointer();
  return std::make_shared<const RunResult>(std::move(*result));
}

/// How near \p run came to \p place, or to another one of its line where the search's image has
/// none there; nothing if it does not say.
static std::optional<kbrt::NearPlace> nearestIn(const RunResult &run,
                                                const kbrt::SourcePosition &place) {
  const kbrt::NearPlace *ofLine = nullptr;
  for (const kbrt::NearPlace &each : run.near) {
    if (each.position == place)
      return each;
    if (each.position.first == place.first && !ofLine)
      ofLine = &each;
  }
  return ofLine ? std::optional(*ofLine) : std::nullopt;
}

Error InputSearch::begin(const kbrt::SourcePosition &place) {
  if (!uploads) {
    uploads.emplace();
    Expected<std::vector<ChangeableUpload>> all = context.judge.cases.changeableUploads();
    if (!all)
      return all.takeError();
    uint64_t bytes = 0;
    for (const ChangeableUpload &upload : *all)
      bytes += upload.count * kbrt::elementBytes(upload.element);
    // Changes of uploads say nothing of hosts that hand them over in another form.
    if (bytes <= mostBytes && !context.hasRelaidInputs)
      uploads = std::move(*all);
  }
  current = place;
  nearest.reset();
  proposals.emplace(*uploads);
  if (uploads->empty() || !hasBudget())
    return Error::success();
  Expected<RunPointer> usual = run({});
  if (!usual)
    return usual.takeError();
  if (*usual)
    nearest = nearestIn(**usual, place);
  proposals->startFrom({}, nearest.value_or(kbrt::NearPlace()));
  return Error::success();
}

Expected<bool> InputSearch::leads(ArrayRef<InputChange> changes, LeadsThere leadsThere) {
  if (!hasBudget())
    return false;
  Expected<RunPointer> result = run(changes);
  if (!result)
    return result.takeError();
  return *result && leadsThere((*result)->coverage);
}

Expected<std::vector<InputChange>> InputSearch::narrowed(std::vector<InputChange> changes,
                                                         LeadsThere leadsThere) {
  for (InputChange &change : changes) {
    if (change.kind != InputChange::Kind::CountUp)
      continue;
    const auto upload = find_if(
        *uploads, [&](const ChangeableUpload &each) { return each.number == change.upload; });
    for (uint64_t period = upload->count; period > 1;) {
      const InputChange whole = change;
      const uint64_t half = period / 2;
      bool isThere = false;
      for (bool isUpper : {false, true}) {
        change.value = whole.value + (isUpper ? whole.other * static_cast<double>(half) : 0);
        change.period = isUpper ? period - half : half;
        Expected<bool> led = leads(changes, leadsThere);
        if (!led)
          return led.takeError();
        isThere = *led;
        if (isThere)
          break;
      }
      if (!isThere) {
        change = whole;
        break;
      }
      period = change.period;
    }
    if (change.period == 1)
      change = {change.upload, InputChange::Kind::Set, change.value, 0, change.every};
  }
  return changes;
}

Expected<std::vector<TestCase>> InputSearch::casesOf(const std::vector<InputChange> &found,
                                                     LeadsThere leadsThere) {
  Expected<std::vector<InputChange>> narrow = narrowed(found, leadsThere);
  if (!narrow)
    return narrow.takeError();
  std::vector<std::vector<InputChange>> all{found};
  if (describe(*narrow) != describe(found))
    all.push_back(*narrow);
  llvm::append_range(all, spread(*narrow));
  std::vector<TestCase> tests;
  for (const auto &[index, changes] : enumerate(all)) {
    if (index) {
      Expected<bool> isThere = leads(changes, leadsThere);
      if (!isThere)
        return isThere.takeError();
      if (!*isThere)
        continue;
    }
    std::optional<TestCase> test = context.judge.cases.changedCase(changes);
    if (!test)
      continue;
    Expected<bool> allowed = consents(context.judge, *test);
    if (!allowed)
      return allowed.takeError();
    if (*allowed)
      tests.push_back(std::move(*test));
  }
  return tests;
}

Expected<std::vector<TestCase>> InputSearch::find(const kbrt::SourcePosition &place,
                                                  LeadsThere leadsThere) {
  if (current != place)
    if (Error error = begin(place))
      return std::move(error);
  while (hasBudget()) {
    const std::optional<std::vector<InputChange>> changes = proposals->next();
    if (!changes)
      break;
    Expected<RunPointer> result = run(*changes);
    if (!result)
      return result.takeError();
    if (!*result)
      continue;
    if (leadsThere((*result)->coverage)) {
      Expected<std::vector<TestCase>> tests = casesOf(*changes, leadsThere);
      if (!tests)
        return tests.takeError();
      ++(tests->empty() ? refused : found);
      if (!tests->empty())
        return tests;
      continue;
    }
    const std::optional<kbrt::NearPlace> near = nearestIn(**result, place);
    auto rank = [](const kbrt::NearPlace &n) { return std::tie(n.branches, n.distance); };
    if (near && (!nearest || rank(*near) < rank(*nearest))) {
      nearest = near;
      proposals->startFrom(*changes, *near);
    }
  }
  return std::vector<TestCase>();
}

} // namespace kbopt
