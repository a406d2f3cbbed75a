//===- HostAudit.cpp - What changed host code may do ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the audit of a candidate's plan against the original's: what both read back is
// compared elsewhere, what the host did besides is looked at here.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "HeldObjects.h"
#include "RelaidInputs.h"
#include "kb-opt/Plan/HostValues.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;

namespace kbopt {

/// Relative difference of numbers that a host computed from the same results in another order.
static constexpr double hostTolerance = 1e-3;

static bool isSameNumber(StringRef a, StringRef b) {
  double x, y;
  return a == b || (!a.getAsDouble(x) && !b.getAsDouble(y) &&
                    std::fabs(x - y) <= hostTolerance * std::max(std::fabs(x), std::fabs(y)));
}

Expected<std::optional<std::string>>
hostResultDifference(const std::string &original, const std::string &candidate, bool exact) {
  std::string text[2];
  for (auto [folder, into] : {std::pair(&original, &text[0]), {&candidate, &text[1]}}) {
    std::string path = *folder + "/" + hostResultsFileName;
    if (!realFileSystem().exists(path))
      continue;
    Expected<std::string> read = realFileSystem().read(path);
    if (!read)
      return read.takeError();
    *into = std::move(*read);
  }
  SmallVector<StringRef> lines[2];
  for (int side : {0, 1})
    StringRef(text[side]).split(lines[side], '\n', -1, /*KeepEmpty=*/false);
  if (lines[0].size() != lines[1].size())
    return std::optional<std::string>(formatv("the host leaves {0} results, of the original {1}",
                                              lines[1].size(), lines[0].size()));
  for (size_t i = 0; i < lines[0].size(); ++i) {
    SmallVector<StringRef> own, its;
    lines[0][i].split(own, ' ');
    lines[1][i].split(its, ' ');
    bool same = own.size() == its.size() && (!exact || lines[0][i] == lines[1][i]);
    for (size_t k = 3; same && !exact && k < own.size(); ++k) // past word, name and hash
      same = isSameNumber(own[k], its[k]);
    if (!same)
      return std::optional<std::string>(
          formatv("what the function returns or leaves in host memory as '{0}' differs",
                  own.size() > 1 ? own[1] : StringRef("?")));
  }
  return std::nullopt;
}

/// What the plan in \p folder takes from the host, and whether it launches anything.
struct HostWork {
  RecordedPlan recorded; ///< holds the bytes
  std::vector<StringRef> uploads, arguments;
  /// Uploads that the host may have made from results: it has read some before.
  std::vector<std::pair<StringRef, kbrt::ElementType>> computed;
  std::vector<StringRef> passed; ///< all arguments without pointers that say something
  uint64_t tableBytes = 0;       ///< of tables that the original does not upload
  std::vector<StringRef> tables;
  size_t fills = 0;
  uint64_t readBytes = 0; ///< of results
  size_t launches = 0;
  UnorderedSteps unordered;
};

/// Arguments without pointers of at most so many bytes are sizes and factors, no results.
static constexpr size_t plainArgumentBytes = 64;

/// Arguments of fewer bytes cannot be told from uploads.
static constexpr size_t leastPassedBytes = 16;

/// Tables of constant memory that a candidate may bring along, together.
static constexpr uint64_t mostTableBytes = 4096;

/// Results that a candidate's host reads besides those of the original's, and numbers that it makes
/// from results and hands over, together: what it computes is not timed.
static constexpr uint64_t mostOtherBytes = 4096;

static Expected<HostWork> hostWork(const std::string &folder) {
  Expected<RecordedPlan> recorded = readRecordedPlan(folder);
  if (!recorded)
    return recorded.takeError();
  HostWork work;
  work.recorded = std::move(*recorded);
  StringRef data = work.recorded.data();
  bool hasRead = false;
  for (const kbrt::Step &step : work.recorded.plan.steps) {
    work.fills += std::holds_alternative<kbrt::FillStep>(step);
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step);
        upload && upload->data + upload->to.bytes() <= data.size()) {
      const bool isTable =
          work.recorded.plan.buffers[upload->to.at.buffer].kind == kbrt::BufferKind::Symbol;
      const StringRef bytes = data.substr(upload->data, upload->to.bytes());
      // Fresh memory that the host shares with the device holds zeros: no answer.
      if (upload->host == kbrt::HostPart::Writes &&
          bytes.find_first_not_of('\0') == StringRef::npos) {
        ++work.fills;
        continue;
      }
      (isTable ? work.tables : work.uploads).push_back(bytes);
      if (!isTable && hasRead)
        work.computed.emplace_back(bytes, work.recorded.plan.buffers[upload->to.at.buffer].element);
    }
    if (const auto *read = std::get_if<kbrt::ReadStep>(&step)) {
      hasRead = true;
      work.readBytes += read->from.bytes();
    }
    if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step)) {
      ++work.launches;
      for (const kbrt::Argument &argument : launch->arguments) {
        if (!argument.pointers.empty())
          continue;
        const StringRef bytes(reinterpret_cast<const char *>(argument.bytes.data()),
                              argument.bytes.size());
        if (bytes.size() > plainArgumentBytes)
          work.arguments.push_back(bytes);
        if (bytes.size() >= leastPassedBytes)
          work.passed.push_back(bytes);
      }
    }
  }
  work.unordered = unorderedSteps(work.recorded.plan);
  return work;
}

/// Whether \p from holds \p bytes: what was uploaded whole may come in pieces, and pieces together.
static bool holds(ArrayRef<StringRef> from, StringRef bytes) {
  return findPieces(from, bytes).has_value();
}

/// Whether \p bytes are what \p original's host made from results and uploaded, but for roundings.
static bool isComputedAlike(const HostWork &original, StringRef bytes) {
  return any_of(original.computed, [&](const auto &upload) {
    return areSameNumbers(bytes, upload.first, upload.second);
  });
}

/// Whether the host has read a result before it handed over \p upload, one of \p work's.
static bool followsRead(const HostWork &work, StringRef upload) {
  return any_of(work.computed,
                [&](const auto &each) { return each.first.data() == upload.data(); });
}

/// Whether results stay where steps that may touch the same bytes change places; a failed or
/// undecided record if they do not, or not all were tried.
static Expected<std::optional<GateRecord>> tryOtherOrders(GateContext &context,
                                                          const TestCase &test,
                                                          const std::string &folder, GateId gate,
                                                          const UnorderedSteps &unordered) {
  Judge::Impl &judge = context.judge;
  if (unordered.otherOrders.empty())
    return std::nullopt;
  if (unordered.tooMany || !judge.baseline->deterministic)
    return GateRecord::undecided(
        gate, "the candidate's host may not wait: " + unordered.otherOrders.front().first +
                  "; whether they touch the same bytes is not known");
  Device &device = judge.deviceFor(RunMode::Plain, Where::Usual);
  Expected<const DeviceImage *> image = judge.image(context.candidate, RunMode::Plain);
  if (!image)
    return image.takeError();
  auto runIn = [&](const kbrt::Plan &plan) -> Expected<RunResult> {
    Expected<std::string> copy = judge.scratchFile("order" + std::to_string(judge.scratchCount++));
    if (!copy)
      return copy.takeError();
    if (Error failure = judge.writeAgain(plan, folder, *copy))
      return std::move(failure);
    Expected<RunResult> result = device.run(**image, *copy, judge.runOptions());
    (void)sys::fs::remove_directories(*copy);
    return result;
  };
  Expected<RunPointer> usual =
      judge.run(context.candidate, test, RunMode::Plain, judge.runOptions());
  if (!usual)
    return usual.takeError();
  // By their places among the results: reads may have changed theirs in the plan.
  auto sorted = [](const kbrt::Plan &plan, const RunResult &result) {
    std::map<uint64_t, StringRef> byPlace;
    size_t next = 0;
    for (const kbrt::Step &step : plan.steps)
      if (const auto *read = std::get_if<kbrt::ReadStep>(&step);
          read && next < result.outputs.size())
        byPlace[read->observable] = result.outputs[next++];
    std::string all;
    for (const auto &[place, bytes] : byPlace)
      all += bytes;
    return all;
  };
  std::string expected;
  if (!unordered.otherOrders.empty())
    for (const SharedBytes &output : (*usual)->outputs)
      expected += output.str();
  for (const auto &[text, plan] : unordered.otherOrders) {
    Expected<RunResult> result = runIn(plan);
    if (!result)
      return result.takeError();
    if (result->status != RunStatus::Ok || sorted(plan, *result) != expected)
      return GateRecord::fail(gate, FailureClass::Constraints,
                              "the candidate's host does not wait: " + text);
  }
  return std::nullopt;
}

namespace {
/// What a checked run tells of steps in no order.
struct TouchedInOrder {
  bool isKnown = false; ///< the CPU device has seen what all launches touch
  std::string conflict; ///< empty if there is none
};
} // namespace

static Expected<TouchedInOrder> checkTouches(GateContext &context, const TestCase &test) {
  Judge::Impl &judge = context.judge;
  Expected<std::optional<std::string>> refusal = judge.cpuRefusal(test);
  if (!refusal)
    return refusal.takeError();
  if (*refusal)
    return TouchedInOrder{};
  Expected<RunPointer> checked =
      judge.run(context.candidate, test, RunMode::Check, judge.cpuOptions(context.candidate));
  if (!checked) {
    // It lacks a construct of the candidate's.
    Expected<GateRecord> blamed =
        blameProgram(checked.takeError(), GateId::G4, FailureClass::Runtime);
    if (!blamed)
      return blamed.takeError();
    return TouchedInOrder{};
  }
  for (const DeviceFinding &finding : (*checked)->findings)
    if (finding.kind == "unordered" && !finding.benign)
      return TouchedInOrder{true, finding.text};
  return TouchedInOrder{(*checked)->status == RunStatus::Ok && (*checked)->defects().empty() &&
                            (*checked)->orderUnknown.empty(),
                        ""};
}

/// Whether the candidate's host keeps in order what must be.
static Expected<std::optional<GateRecord>> auditOrder(GateContext &context, const TestCase &test,
                                                      const std::string &folder, GateId gate,
                                                      const UnorderedSteps &before,
                                                      const UnorderedSteps &after) {
  if (!after.certain && after.otherOrders.empty())
    return std::nullopt;
  Expected<TouchedInOrder> touched = checkTouches(context, test);
  if (!touched)
    return touched.takeError();
  if (!touched->conflict.empty())
    return GateRecord::fail(gate, FailureClass::Constraints,
                            "the candidate's host does not wait: " + touched->conflict);
  if (touched->isKnown)
    return std::nullopt;
  // What the original does not keep in order, the candidate need not.
  if (before.certain || !before.otherOrders.empty())
    return std::nullopt;
  if (after.certain)
    return GateRecord::fail(gate, FailureClass::Constraints,
                            "the candidate's host does not wait: " + *after.certain);
  return tryOtherOrders(context, test, folder, gate, after);
}

/// Whether the candidate's host gives back what it takes in each call, where the original's does.
static Expected<std::optional<GateRecord>> auditHeld(GateContext &context, const TestCase &test,
                                                     const kbrt::Outcome &before,
                                                     const kbrt::Outcome &after, GateId gate) {
  Judge::Impl &judge = context.judge;
  std::optional<std::string> held;
  if (test.calls > 1) {
    Expected<std::string> ownOnce = judge.plan(judge.baselineProgram, judge.recordedCase()),
                          itsOnce = judge.plan(context.candidate, judge.recordedCase());
    if (!ownOnce || !itsOnce)
      return joinErrors(ownOnce.takeError(), itsOnce.takeError());
    Expected<RecordedPlan> own = readRecordedPlan(*ownOnce), its = readRecordedPlan(*itsOnce);
    if (!own || !its)
      return joinErrors(own.takeError(), its.takeError());
    held = findHeldByCalls({own->plan.outcome, before, its->plan.outcome, after, test.calls});
  } else if (test.recorded || test.hasOtherSources) {
    held = findHeldByLaunches(before, after);
  }
  if (!held)
    return std::nullopt;
  const std::string lines =
      linesThatMake(StringRef(*held).split(':').first, judge.baselineProgram.program->text,
                    context.candidate.program->text);
  return GateRecord::fail(gate, FailureClass::Constraints,
                          "the candidate's host does not give back what it takes again and again" +
                              (lines.empty() ? "" : " (" + lines + ")") + ", " + *held);
}

/// A candidate's host code may rearrange launches; the work must stay on the
/// device, and no answer may come from the host.
Expected<std::optional<GateRecord>> auditHost(GateContext &context, const TestCase &test,
                                              GateId gate) {
  Expected<std::string> original = context.judge.plan(context.judge.baselineProgram, test);
  if (!original)
    return original.takeError();
  Expected<std::string> candidate = context.judge.plan(context.candidate, test);
  if (!candidate) {
    Expected<GateRecord> record = blameProgram(candidate.takeError(), gate, FailureClass::Runtime);
    if (!record)
      return record.takeError();
    return std::optional<GateRecord>(std::move(*record));
  }
  if (*original == *candidate)
    return std::nullopt;
  Expected<HostWork> before = hostWork(*original), after = hostWork(*candidate);
  if (!before || !after)
    return joinErrors(before.takeError(), after.takeError());
  const kbrt::Outcome &own = before->recorded.plan.outcome, &its = after->recorded.plan.outcome;
  if (own.exitStatus != its.exitStatus)
    return GateRecord::fail(gate, FailureClass::Correctness,
                            formatv("the program ends with status {0} on case {1}, the original "
                                    "with {2}",
                                    its.exitStatus, test.name, own.exitStatus));
  if (before->launches && !after->launches)
    return GateRecord::fail(gate, FailureClass::Constraints, "the candidate launches no kernel");
  Expected<std::optional<GateRecord>> ordered =
      auditOrder(context, test, *candidate, gate, before->unordered, after->unordered);
  if (!ordered || *ordered)
    return ordered;
  llvm::append_range(before->uploads, before->tables); // either may become the other
  // A table of the candidate's own, of factors or codes, stays what it is while the inputs vary; a
  // result in it would not fit them.
  for (StringRef table : after->tables)
    if (!holds(before->uploads, table))
      after->tableBytes += table.size();
  context.hasOwnTable =
      context.hasOwnTable || (after->tableBytes > 0 && after->tableBytes <= mostTableBytes);
  if (after->tableBytes > mostTableBytes)
    llvm::append_range(after->uploads, after->tables);
  const bool exact = context.promise.result == Promise::Bitwise;
  const std::string onCase = test.recorded ? "" : " on case " + test.name;
  if (after->readBytes > before->readBytes + mostOtherBytes * test.timesRecorded)
    return GateRecord::fail(gate, FailureClass::Constraints,
                            formatv("the candidate's host reads {0} bytes of results, the "
                                    "original's {1}: the work must stay on the device",
                                    after->readBytes, before->readBytes));
  // As many bytes as the original's host may have made from results, and a few factors.
  uint64_t madeBytes = 0, mayMake = plainArgumentBytes;
  for (const auto &[bytes, type] : before->computed)
    mayMake = std::min<uint64_t>(mayMake + bytes.size(), mostOtherBytes);
  uint64_t ownBytes = 0; // that are no results for all that the host knows
  std::vector<StringRef> results;
  auto uploadsOther = [&] {
    return GateRecord::fail(gate, FailureClass::Constraints,
                            "the candidate's host uploads bytes that the original does not" +
                                onCase);
  };
  for (StringRef upload : after->uploads) {
    if (upload.find_first_not_of('\0') == StringRef::npos) {
      ++after->fills; // memory of the host that the device sees, before it was written to
      continue;
    }
    if (holds(before->uploads, upload) ||
        (upload.size() >= leastPassedBytes && holds(before->passed, upload)))
      continue;
    if (!exact && isComputedAlike(*before, upload)) {
      context.hasRoundedUpload = true;
      continue;
    }
    const bool mayBeMade = followsRead(*after, upload);
    if (mayBeMade && madeBytes + upload.size() <= mayMake) {
      madeBytes += upload.size();
      context.runsHostsAgain = true;
      continue;
    }
    // Values to begin with are as good as arguments; where they are results, other inputs tell.
    if (!mayBeMade && ownBytes + upload.size() <= plainArgumentBytes) {
      ownBytes += upload.size();
      context.hasOwnTable = true;
      continue;
    }
    if (results.empty()) {
      Expected<const Reference *> reference = context.judge.reference(test, Spread::None);
      if (!reference)
        return reference.takeError();
      for (const SharedBytes &output : (*reference)->run->outputs)
        results.push_back(output);
    }
    if (!isRelaid(upload, before->uploads, results, !mayBeMade))
      return uploadsOther();
    context.hasRelaidInputs = true;
  }
  std::vector<StringRef> handedOver = before->uploads;
  llvm::append_range(handedOver, before->passed);
  for (StringRef argument : after->arguments)
    if (!holds(handedOver, argument) && unknownBytes(argument, handedOver) > plainArgumentBytes)
      return GateRecord::fail(
          gate, FailureClass::Constraints,
          formatv("the candidate's host passes {0} bytes by value that the original does not",
                  argument.size()));
  // Clearing buffers takes a few, for each launch at most; a result that is written byte by byte
  // takes many.
  constexpr size_t moreFills = 64;
  if (after->fills > 2 * before->fills + before->launches + moreFills)
    return GateRecord::fail(
        gate, FailureClass::Constraints,
        formatv("the candidate's host fills memory {0} times, the original's {1} times",
                after->fills, before->fills));
  Expected<std::optional<GateRecord>> kept =
      auditHeld(context, test, before->recorded.plan.outcome, after->recorded.plan.outcome, gate);
  if (!kept || *kept)
    return kept;
  if (context.runsHostsAgain) // which compares them
    return std::nullopt;
  Expected<std::optional<std::string>> difference =
      hostResultDifference(*original, *candidate, exact);
  if (!difference)
    return difference.takeError();
  if (*difference)
    return GateRecord::fail(gate, FailureClass::Correctness,
                            **difference + " on case " + test.name);
  return std::nullopt;
}

} // namespace kbopt
