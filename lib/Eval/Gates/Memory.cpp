//===- Memory.cpp - Gate G8: what a candidate does to memory --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns two checks: outputs must not depend on what lay in fresh memory, and
// buffers that the original only reads must hold their bytes afterwards. Guard
// zones are the device's: a changed one is a finding of the run.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace llvm;

namespace kbopt {
namespace {

/// Buffers larger than this are not read back, nor more than this of all together.
constexpr uint64_t auditBytes = uint64_t(256) << 20, auditTotal = uint64_t(1) << 30;

void applyUpload(std::vector<uint8_t> &memory, const kbrt::UploadStep &upload, StringRef data) {
  const kbrt::Region &to = upload.to;
  for (uint64_t row = 0; row < to.height; ++row) {
    uint64_t at = to.at.offset + row * to.pitch, from = upload.data + row * to.width;
    if (at + to.width <= memory.size() && from + to.width <= data.size())
      std::memcpy(memory.data() + at, data.data() + from, to.width);
  }
}

AuditedPlan auditPlan(const kbrt::Plan &plan, StringRef data, uint8_t poison) {
  AuditedPlan result;
  result.plan = plan;
  result.plan.steps.clear();
  std::vector<bool> live(plan.buffers.size()), unknown(plan.buffers.size());
  uint64_t observable = kbrt::observableBytes(plan);
  std::vector<bool> chosen;
  uint64_t total = 0;
  for (const kbrt::Buffer &buffer : plan.buffers) {
    chosen.push_back(buffer.bytes > 0 && buffer.bytes <= auditBytes &&
                     total + buffer.bytes <= auditTotal);
    total += chosen.back() ? buffer.bytes : 0;
  }
  auto small = [&](uint32_t buffer) { return chosen[buffer]; };
  auto audit = [&](uint32_t buffer) {
    if (!live[buffer] || !small(buffer))
      return;
    kbrt::ReadStep read;
    read.from = kbrt::Region::linear({buffer, 0}, plan.buffers[buffer].bytes);
    read.observable = observable;
    observable += plan.buffers[buffer].bytes;
    result.plan.steps.push_back(read);
    result.audits.push_back(buffer);
    live[buffer] = false;
  };
  for (const kbrt::Step &step : plan.steps) {
    if (const auto *alloc = std::get_if<kbrt::AllocStep>(&step)) {
      live[alloc->buffer] = true;
      if (small(alloc->buffer))
        result.untouched[alloc->buffer].assign(plan.buffers[alloc->buffer].bytes, poison);
    } else if (const auto *release = std::get_if<kbrt::FreeStep>(&step)) {
      audit(release->buffer);
    } else if (const auto *upload = std::get_if<kbrt::UploadStep>(&step)) {
      auto found = result.untouched.find(upload->to.at.buffer);
      if (found != result.untouched.end())
        applyUpload(found->second, *upload, data);
    } else if (const auto *fill = std::get_if<kbrt::FillStep>(&step)) {
      unknown[fill->to.at.buffer] = true;
    } else if (const auto *copy = std::get_if<kbrt::CopyStep>(&step)) {
      unknown[copy->to.at.buffer] = true;
    } else if (const auto *product = std::get_if<kbrt::MatmulStep>(&step)) {
      unknown[product->c.at.buffer] = true;
    } else if (std::holds_alternative<kbrt::ReadStep>(step)) {
      result.audits.push_back(std::nullopt);
    }
    result.plan.steps.push_back(step);
  }
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
    audit(buffer);
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
    if (unknown[buffer])
      result.untouched.erase(buffer);
  return result;
}

/// One program's audited run on one case.
struct AuditedRun {
  const AuditedPlan *audited = nullptr; ///< the program's
  RunPointer result;
};

Expected<AuditedRun> runAudited(Judge::Impl &judge, JudgedProgram &program, const TestCase &test) {
  Expected<const AuditedPlan &> audited = judge.audited(program, test);
  if (!audited)
    return audited.takeError();
  Expected<RunPointer> result = judge.run(
      program, {test, RunMode::Plain, judge.runOptions(), Where::Usual, /*audited=*/true});
  if (!result)
    return result.takeError();
  return AuditedRun{&*audited, *result};
}

/// Buffers that hold at the end what the host put there.
std::map<uint32_t, bool> unchangedBuffers(const AuditedRun &run) {
  std::map<uint32_t, bool> unchanged;
  for (size_t i = 0; i < run.audited->audits.size() && i < run.result->outputs.size(); ++i) {
    std::optional<uint32_t> buffer = run.audited->audits[i];
    if (!buffer)
      continue;
    auto expected = run.audited->untouched.find(*buffer);
    if (expected == run.audited->untouched.end())
      continue;
    const StringRef bytes = run.result->outputs[i];
    unchanged[*buffer] = bytes.size() == expected->second.size() &&
                         std::memcmp(bytes.data(), expected->second.data(), bytes.size()) == 0;
  }
  return unchanged;
}

} // namespace

Expected<bool> originalDepends(Judge::Impl &judge, const TestCase &test,
                               const Reference &reference) {
  Expected<const bool &> depends =
      judge.dependsOnFreshMemory.get(test.name, [&]() -> Expected<bool> {
        Expected<RunPointer> other =
            judge.run(judge.baselineProgram, test, RunMode::Plain, judge.otherMemory());
        if (!other)
          return other.takeError();
        return firstDifference(reference.outputs, *reference.run, **other).has_value();
      });
  if (!depends)
    return depends.takeError();
  return *depends;
}

namespace {

/// The original's `unchangedBuffers`.
Expected<const std::map<uint32_t, bool> &> originalAudit(Judge::Impl &judge, const TestCase &test) {
  return judge.originalAudits.get(test.name, [&]() -> Expected<std::map<uint32_t, bool>> {
    Expected<AuditedRun> run = runAudited(judge, judge.baselineProgram, test);
    if (!run)
      return run.takeError();
    return unchangedBuffers(*run);
  });
}

} // namespace

Expected<const AuditedPlan &> Judge::Impl::audited(JudgedProgram &program, const TestCase &test) {
  Expected<std::string> folder = plan(program, test);
  if (!folder)
    return folder.takeError();
  if (!program.isOriginal) {
    // Candidates that have the original's plan have its copy, too.
    Expected<std::string> own = plan(baselineProgram, test);
    if (!own)
      return own.takeError();
    if (*own == *folder)
      return audited(baselineProgram, test);
  }
  return program.audits.get(test.name, [&]() -> Expected<AuditedPlan> {
    Expected<RecordedPlan> recorded = readRecordedPlan(*folder);
    if (!recorded)
      return recorded.takeError();
    Expected<std::string> copy = scratchFile("plan" + std::to_string(scratchCount++));
    if (!copy)
      return copy.takeError();
    AuditedPlan result = auditPlan(recorded->plan, recorded->data(), runOptions().memoryPoison);
    result.folder = *copy;
    result.outputBytes = kbrt::observableBytes(result.plan);
    {
      std::lock_guard<std::mutex> lock(program.mutex);
      program.folders.push_back(*copy);
    }
    if (Error failure = writeAgain(result.plan, *folder, *copy))
      return std::move(failure);
    return result;
  });
}

Error Judge::Impl::writeAgain(const kbrt::Plan &plan, const std::string &folder,
                              const std::string &copy) {
  return writePlanWithData(plan, folder, copy);
}

/// Buffers of \p plan that it allocates and uploads nothing to: no inputs.
static std::set<uint32_t> fillsNone(const kbrt::Plan &plan) {
  std::set<uint32_t> none;
  for (const kbrt::Step &step : plan.steps)
    if (const auto *alloc = std::get_if<kbrt::AllocStep>(&step))
      none.insert(alloc->buffer);
    else if (const auto *upload = std::get_if<kbrt::UploadStep>(&step))
      none.erase(upload->to.at.buffer);
  return none;
}

Expected<GateRecord> runMemory(GateContext &context) {
  Judge::Impl &judge = context.judge;
  Expected<std::optional<GateRecord>> counters = checkOwnCounters(context);
  if (!counters)
    return blameProgram(counters.takeError(), GateId::G8, FailureClass::Runtime);
  if (*counters)
    return std::move(**counters);
  TestCase test = judge.checkCase();
  Expected<const Reference *> reference = judge.reference(test, Spread::None);
  if (!reference)
    return reference.takeError();
  GateRecord record = GateRecord::pass(GateId::G8, "", 1);

  Expected<bool> depends = originalDepends(judge, test, **reference);
  if (!depends)
    return depends.takeError();
  const std::vector<OutputSpec> &outputs = (*reference)->outputs;
  {
    Expected<RunPointer> first =
        judge.run(context.candidate, test, RunMode::Plain, judge.runOptions());
    if (!first)
      return blameProgram(first.takeError(), GateId::G8, FailureClass::Runtime);
    Expected<RunPointer> second =
        judge.run(context.candidate, test, RunMode::Plain, judge.otherMemory());
    if (!second)
      return blameProgram(second.takeError(), GateId::G8, FailureClass::Runtime);
    for (const RunPointer &run : {*first, *second})
      if (std::optional<GateRecord> failure = failureOf(*run, GateId::G8, test.name))
        return std::move(*failure);
    if (*depends)
      record.details.push_back(
          "the original reads back bytes that were never written: results under two "
          "fillings of fresh memory are not compared");
    else if (judge.baseline->deterministic)
      if (auto difference = firstDifference(outputs, **first, **second))
        return GateRecord::fail(GateId::G8, FailureClass::Correctness,
                                "the result depends on what lay in fresh memory: " + *difference);
  }

  // Inputs after the run.
  Expected<const std::map<uint32_t, bool> &> inOriginal = originalAudit(judge, test);
  if (!inOriginal)
    return inOriginal.takeError();
  Expected<RecordedPlan> recorded = readRecordedPlan((*reference)->planFolder);
  if (!recorded)
    return recorded.takeError();
  Expected<AuditedRun> candidateAudit = runAudited(judge, context.candidate, test);
  if (!candidateAudit)
    return blameProgram(candidateAudit.takeError(), GateId::G8, FailureClass::Runtime);
  if (std::optional<GateRecord> failure = failureOf(*candidateAudit->result, GateId::G8, test.name))
    return std::move(*failure);
  const std::vector<kbrt::Buffer> &before = recorded->plan.buffers,
                                  &after = candidateAudit->audited->plan.buffers;
  std::map<uint32_t, bool> inCandidate = unchangedBuffers(*candidateAudit);
  const std::set<uint32_t> fresh = fillsNone(recorded->plan);
  for (const auto &[buffer, unchanged] : *inOriginal) {
    if (fresh.count(buffer))
      continue;
    auto found = inCandidate.find(buffer);
    bool sameBuffer = buffer < after.size() && after[buffer].bytes == before[buffer].bytes;
    if (unchanged && sameBuffer && found != inCandidate.end() && !found->second)
      return GateRecord::fail(
          GateId::G8, FailureClass::Correctness,
          formatv("the candidate changes buffer {0} ({1} bytes), which the original only reads",
                  buffer, before[buffer].bytes));
  }
  return record;
}

} // namespace kbopt
