//===- Physics.cpp - Gate G13: what no right program can do without --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the least work of a program on its recorded case, from its plan and the GPU's
// counters, and the time that it takes on a chip.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {
namespace {

/// Bytes of inputs and outputs that the plan alone shows.
struct PlannedBytes {
  double inputs = 0, outputs = 0;
};

/// Inputs: uploaded before anything is launched, and taken by a kernel by pointer to const only.
/// Outputs: read by the host, and put there by kernels alone.
PlannedBytes plannedBytes(const kbrt::Plan &plan) {
  std::vector<uint64_t> uploaded(plan.buffers.size()), read(plan.buffers.size());
  std::vector<bool> isConst(plan.buffers.size()), isWritten(plan.buffers.size());
  bool launched = false;
  for (const kbrt::Step &step : plan.steps) {
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step)) {
      uploaded[upload->to.at.buffer] += upload->to.bytes();
      // What comes later may lie in the cache.
      isWritten[upload->to.at.buffer] = isWritten[upload->to.at.buffer] || launched;
    } else if (const auto *fill = std::get_if<kbrt::FillStep>(&step)) {
      isWritten[fill->to.at.buffer] = true;
    } else if (const auto *copy = std::get_if<kbrt::CopyStep>(&step)) {
      isWritten[copy->to.at.buffer] = true;
    } else if (const auto *product = std::get_if<kbrt::MatmulStep>(&step)) {
      isWritten[product->c.at.buffer] = true;
    } else if (const auto *result = std::get_if<kbrt::ReadStep>(&step)) {
      read[result->from.at.buffer] += result->from.bytes();
    } else if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step)) {
      launched = true;
      std::optional<std::vector<bool>> constants = kbrt::constPointerParameters(launch->kernel);
      for (size_t i = 0; i < launch->arguments.size(); ++i)
        for (const kbrt::PointerWord &word : launch->arguments[i].pointers) {
          bool toConst = constants && i < constants->size() && (*constants)[i];
          (toConst ? isConst : isWritten)[word.target.buffer] = true;
        }
    }
  }
  PlannedBytes bytes;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (uploaded[i] && isConst[i] && !isWritten[i])
      bytes.inputs += static_cast<double>(std::min(uploaded[i], plan.buffers[i].bytes));
    if (read[i] && !uploaded[i] && isWritten[i])
      bytes.outputs += static_cast<double>(std::min(read[i], plan.buffers[i].bytes));
  }
  return bytes;
}

/// Sums of counters over all launches.
double total(const GpuProfile &counters, StringRef name) {
  double sum = 0;
  for (const LaunchMetrics &launch : counters.launches)
    if (auto found = launch.metrics.find(name.str()); found != launch.metrics.end())
      sum += found->second;
  return sum;
}

void addOperations(const GpuProfile &counters, MandatoryWork &work) {
  auto operations = [&](StringRef type) {
    auto count = [&](StringRef operation) {
      return total(
          counters,
          ("smsp__sass_thread_inst_executed_op_" + type + operation + "_pred_on.sum").str());
    };
    return count("add") + count("mul") + 2 * count("fma");
  };
  work.fp32 = operations("f");
  work.fp64 = operations("d");
  work.fp16 = operations("h");
}

} // namespace

Expected<MandatoryWork> workOf(GateContext &context, const MandatoryWork &original) {
  Judge::Impl &judge = context.judge;
  Expected<GpuSubject> candidate = judge.subject(context.candidate, judge.recordedCase());
  if (!candidate)
    return candidate.takeError();
  Expected<GpuProfile> counters = judge.gpu->profile(*candidate, "ABCD", /*sampleLines=*/false);
  if (!counters)
    return counters.takeError();
  MandatoryWork work = original;
  if (counters->status != RunStatus::Ok || !counters->degraded.empty())
    return work;
  MandatoryWork own;
  addOperations(*counters, own);
  work.fp16 = std::min(work.fp16, own.fp16);
  work.fp32 = std::min(work.fp32, own.fp32);
  work.fp64 = std::min(work.fp64, own.fp64);
  return work;
}

Expected<const MandatoryWork &> Judge::Impl::mandatory() {
  return mandatoryWork.get(0, [&]() -> Expected<MandatoryWork> {
    Expected<std::string> folder = plan(baselineProgram, recordedCase());
    if (!folder)
      return folder.takeError();
    std::string error;
    std::optional<kbrt::Plan> recorded = kbrt::readPlan(*folder, error);
    if (!recorded)
      return make_error<StoreError>(error);
    PlannedBytes bytes = plannedBytes(*recorded);
    MandatoryWork work;
    work.bytesWritten = bytes.outputs;
    Expected<const GpuProfile &> counters = profile();
    if (!counters)
      return counters.takeError();
    if (counters->status != RunStatus::Ok || !counters->degraded.empty()) {
      work.limits = "operations and bytes read are unknown: " +
                    (counters->degraded.empty() ? counters->message : counters->degraded);
      return work;
    }
    // A kernel need not look at all that it is given: no more than the original reads.
    work.bytesRead = std::min(bytes.inputs, total(*counters, "dram__bytes_read.sum"));
    addOperations(*counters, work);
    return work;
  });
}

Floor floorOf(const MandatoryWork &work, const ChipInfo &chip, Promise promise) {
  Floor floor;
  auto need = [&](double amount, double perSecond, const Twine &what) {
    if (amount <= 0 || perSecond <= 0 || amount / perSecond * 1e6 <= floor.us)
      return;
    floor.us = amount / perSecond * 1e6;
    floor.reason = what.str();
  };
  // Caches are cold when the clock starts, but what is written may still lie there when it stops.
  const double bytes = work.bytesRead + std::max(0.0, work.bytesWritten - chip.l2Bytes);
  need(bytes, chip.dramBytesPerSecond, formatv("{0:f0} bytes of inputs and outputs", bytes).str());
  // A lower precision may go through the tensor pipe.
  double fp32 = 2 * chip.rate(chip.fp32PerClock), fp16 = 2 * chip.rate(chip.fp16PerClock);
  if (promise == Promise::LowerPrecision)
    fp32 = fp16 = std::max({fp32, fp16, 2 * chip.rate(chip.tensorFp16PerClock)});
  need(work.fp32, fp32, formatv("{0:e2} operations in float32", work.fp32).str());
  need(work.fp16, fp16, formatv("{0:e2} operations in half", work.fp16).str());
  if (promise != Promise::LowerPrecision)
    need(work.fp64, 2 * chip.rate(chip.fp64PerClock),
         formatv("{0:e2} operations in float64", work.fp64).str());
  if (floor.reason.empty())
    floor.reason = "nothing mandatory is known";
  return floor;
}

} // namespace kbopt
