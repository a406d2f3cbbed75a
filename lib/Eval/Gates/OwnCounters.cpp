//===- OwnCounters.cpp - Variables that a candidate brings along (G8) -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the check of new device variables of one number: blocks that count which of them is the
// last leave the counter as they found it, so that no launch knows of those before.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {
namespace {

/// A plan that reads variables first and after each launch.
struct WatchedPlan {
  kbrt::Plan plan;
  std::vector<bool> isWatch; ///< of each read step, in order
  bool isSetByHost = false;  ///< a step of the program's own touches one of them
};

WatchedPlan watch(const kbrt::Plan &own, const std::map<std::string, uint64_t> &variables) {
  WatchedPlan result;
  result.plan = own;
  result.plan.steps.clear();
  const size_t first = own.buffers.size();
  for (const kbrt::Buffer &buffer : own.buffers)
    result.isSetByHost |= variables.count(buffer.symbol) > 0;
  for (const auto &[name, bytes] : variables) {
    kbrt::Buffer buffer;
    buffer.bytes = bytes;
    buffer.kind = kbrt::BufferKind::Symbol;
    buffer.symbol = name;
    result.plan.buffers.push_back(buffer);
  }
  uint64_t observable = kbrt::observableBytes(own);
  auto readAll = [&] {
    for (size_t i = first; i < result.plan.buffers.size(); ++i) {
      kbrt::ReadStep read;
      const uint64_t bytes = result.plan.buffers[i].bytes;
      read.from = kbrt::Region::linear({static_cast<uint32_t>(i), 0}, bytes);
      read.observable = observable;
      observable += bytes;
      result.plan.steps.push_back(read);
      result.isWatch.push_back(true);
    }
  };
  readAll();
  for (const kbrt::Step &step : own.steps) {
    if (std::holds_alternative<kbrt::ReadStep>(step))
      result.isWatch.push_back(false);
    result.plan.steps.push_back(step);
    if (std::holds_alternative<kbrt::LaunchStep>(step))
      readAll();
  }
  return result;
}

/// The name of the first of \p variables that a launch of \p test leaves changed; empty: none.
Expected<std::string> changedOn(GateContext &context, const TestCase &test,
                                const std::map<std::string, uint64_t> &variables) {
  Judge::Impl &judge = context.judge;
  Expected<std::string> folder = judge.plan(context.candidate, test);
  if (!folder)
    return folder.takeError();
  Expected<RecordedPlan> recorded = readRecordedPlan(*folder);
  if (!recorded)
    return recorded.takeError();
  const WatchedPlan watched = watch(recorded->plan, variables);
  if (watched.isSetByHost)
    return variables.begin()->first;
  Expected<std::string> copy = judge.writeCopy(watched.plan, recorded->data());
  if (!copy)
    return copy.takeError();
  Expected<const DeviceImage *> image = judge.image(context.candidate, RunMode::Plain);
  if (!image)
    return image.takeError();
  Expected<RunResult> run =
      judge.deviceFor(RunMode::Plain, Where::Usual).run(**image, *copy, judge.runOptions());
  (void)sys::fs::remove_directories(*copy);
  if (!run)
    return run.takeError();
  if (run->status != RunStatus::Ok || run->outputs.size() != watched.isWatch.size())
    return variables.begin()->first; // what cannot be read is not known to stay
  std::vector<StringRef> first;
  size_t next = 0;
  for (auto [isWatch, output] : llvm::zip_equal(watched.isWatch, run->outputs)) {
    if (!isWatch)
      continue;
    const size_t variable = next++ % variables.size();
    if (first.size() < variables.size())
      first.push_back(output);
    else if (first[variable] != StringRef(output))
      return std::next(variables.begin(), variable)->first;
  }
  return std::string();
}

} // namespace

Expected<std::optional<GateRecord>> checkOwnCounters(GateContext &context) {
  if (context.ownCounters.empty())
    return std::nullopt;
  Judge::Impl &judge = context.judge;
  constexpr unsigned mostOthers = 3;
  unsigned others = 0;
  for (const TestCase &test : judge.cases.cases()) {
    if (!test.recorded) {
      // Cases that both programs are known to run.
      if (test.variesUploads() || !context.candidate.plans.has(test.name) ||
          !judge.baselineProgram.plans.has(test.name) || ++others > mostOthers)
        continue;
    }
    Expected<std::string> changed = changedOn(context, test, context.ownCounters);
    if (!changed)
      return changed.takeError();
    if (!changed->empty())
      return GateRecord::fail(
          GateId::G8, FailureClass::Constraints,
          formatv("new mutable global variable {0}: a launch leaves another value in it than it "
                  "found, on case {1}",
                  *changed, test.name));
  }
  return std::nullopt;
}

} // namespace kbopt
