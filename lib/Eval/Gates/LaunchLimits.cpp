//===- LaunchLimits.cpp - Launches that a chip cannot start ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the limits of registers and shared memory of one block, which the CPU device does not
// have. Grids and numbers of threads are the recorder's.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace kbopt {

/// Why \p chip cannot start \p launch of a kernel with \p kernel's resources; nothing if it can.
static std::optional<std::string> whyItCannotStart(const kbrt::LaunchStep &launch,
                                                   const KernelResources &kernel,
                                                   const ChipInfo &chip) {
  const uint64_t threads = uint64_t(launch.block.x) * launch.block.y * launch.block.z;
  const uint64_t warps = divideCeil(threads, 32), parts = std::max(1.0, chip.schedulersPerSm);
  // Warps are spread over the parts of a multiprocessor, each with its share of the registers.
  const uint64_t unit = std::max(1.0, chip.registerAllocationUnit);
  const uint64_t perWarp = alignTo(uint64_t(kernel.registers.value_or(0)) * 32, unit);
  if (chip.registersPerBlock > 0 &&
      divideCeil(warps, parts) * perWarp > chip.registersPerBlock / parts)
    return formatv("{0} threads of {1} registers each are more than the {2} registers of a "
                   "multiprocessor",
                   threads, *kernel.registers, static_cast<uint64_t>(chip.registersPerBlock))
        .str();
  const uint64_t shared = kernel.sharedBytes.value_or(0) + launch.sharedBytes;
  if (chip.sharedBytesPerBlockOptIn > 0 && shared > chip.sharedBytesPerBlockOptIn)
    return formatv("{0} bytes of shared memory are more than the {1} that a block can have", shared,
                   static_cast<uint64_t>(chip.sharedBytesPerBlockOptIn))
        .str();
  return std::nullopt;
}

/// The first launch of \p program on \p test that cannot start, with the reason.
static Expected<std::optional<std::string>>
firstThatCannotStart(Judge::Impl &judge, JudgedProgram &program, const TestCase &test) {
  Expected<const DeviceCode &> code = judge.code(*program.program);
  if (!code)
    return code.takeError();
  Expected<std::string> folder = judge.plan(program, test);
  if (!folder)
    return folder.takeError();
  Expected<RecordedPlan> recorded = readRecordedPlan(*folder);
  if (!recorded)
    return recorded.takeError();
  for (const kbrt::Step &step : recorded->plan.steps) {
    const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
    const KernelResources *found = launch ? code->find(launch->kernel) : nullptr;
    if (!found)
      continue;
    if (std::optional<std::string> why = whyItCannotStart(*launch, *found, *judge.options.chip))
      return std::optional<std::string>("a launch of " + launch->kernel + " cannot start: " + *why);
  }
  return std::optional<std::string>();
}

Expected<std::optional<GateRecord>> checkLaunchLimits(GateContext &context, const TestCase &test,
                                                      GateId gate) {
  Judge::Impl &judge = context.judge;
  if (!judge.options.chip)
    return std::nullopt;
  Expected<std::optional<std::string>> why = firstThatCannotStart(judge, context.candidate, test);
  if (!why) {
    Expected<GateRecord> record = blameProgram(why.takeError(), gate, FailureClass::Runtime);
    if (!record)
      return record.takeError();
    return std::optional<GateRecord>(std::move(*record));
  }
  if (!*why)
    return std::nullopt;
  Expected<std::optional<std::string>> own =
      firstThatCannotStart(judge, judge.baselineProgram, test);
  if (!own)
    return own.takeError();
  if (*own)
    return std::nullopt;
  return std::optional<GateRecord>(
      GateRecord::fail(gate, FailureClass::Runtime, **why + " on case " + test.name));
}

} // namespace kbopt
