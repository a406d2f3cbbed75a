//===- Sampling.cpp - where a plan's kernels spend their time -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the use of CUPTI's PC sampling: one execution of the plan, samples by
// kernel, source line and stall reason. Without permission, library or line
// table there are no lines, which is no failure.
//
//===----------------------------------------------------------------------===//
#include "Cupti.h"
#include "Execution.h"

#include <algorithm>
#include <bit>
#include <tuple>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// Samples of the whole plan that are aimed at, over all multiprocessors.
constexpr double wantedSamples = 200'000;
/// CUPTI's limits: a period is 2^N cycles.
constexpr unsigned leastPeriod = 5, mostPeriod = 31;
/// Instructions whose samples are taken over at a time.
constexpr size_t instructionsAtOnce = 4096;
constexpr size_t stallNameBytes = CUPTI_STALL_REASON_STRING_SIZE;

/// Room for samples in the form that CUPTI wants.
class SampleBuffer {
public:
  explicit SampleBuffer(size_t reasons)
      : stalls(instructionsAtOnce * reasons), instructions(instructionsAtOnce) {
    for (size_t i = 0; i < instructions.size(); ++i) {
      instructions[i] = {};
      instructions[i].size = sizeof instructions[i];
      instructions[i].stallReason = &stalls[i * reasons];
    }
    data.size = sizeof data;
    data.collectNumPcs = instructions.size();
    data.pPcData = instructions.data();
  }
  CUpti_PCSamplingData data = {};

private:
  std::vector<CUpti_PCSamplingStallReason> stalls;
  std::vector<CUpti_PCSamplingPCData> instructions;
};

/// Samples of one instruction, by stall reason.
struct SampledInstruction {
  uint64_t cubinCrc = 0;
  std::map<std::string, uint64_t> stalls;
};
using Instructions = std::map<std::pair<std::string, uint64_t>, SampledInstruction>;

class Sampler {
public:
  Sampler(const Cupti &cupti, CUcontext context) : cupti(cupti), context(context) {}
  ~Sampler() { disable(); }

  CUptiResult start(unsigned period) {
    auto enable = block<CUpti_PCSamplingEnableParams>(CUpti_PCSamplingEnableParamsSize);
    CUptiResult code = cupti.cuptiPCSamplingEnable(&enable);
    isEnabled = code == CUPTI_SUCCESS;
    if (code == CUPTI_SUCCESS)
      code = readReasons();
    if (code == CUPTI_SUCCESS)
      code = configure(period);
    if (code != CUPTI_SUCCESS)
      return code;
    auto begin = block<CUpti_PCSamplingStartParams>(CUpti_PCSamplingStartParamsSize);
    return cupti.cuptiPCSamplingStart(&begin);
  }

  /// The device must be idle. What there is may come at each of the three calls.
  CUptiResult stop() {
    auto end = block<CUpti_PCSamplingStopParams>(CUpti_PCSamplingStopParamsSize);
    CUptiResult code = cupti.cuptiPCSamplingStop(&end);
    take(configured->data);
    for (bool isMore = code == CUPTI_SUCCESS; isMore;) {
      SampleBuffer buffer(reasons.size());
      auto get = block<CUpti_PCSamplingGetDataParams>(CUpti_PCSamplingGetDataParamsSize);
      get.pcSamplingData = &buffer.data;
      code = cupti.cuptiPCSamplingGetData(&get);
      isMore = code == CUPTI_SUCCESS && buffer.data.totalNumPcs && buffer.data.remainingNumPcs;
      take(buffer.data);
    }
    disable();
    take(configured->data);
    return instructions.empty() ? code : CUPTI_SUCCESS;
  }

  Instructions instructions;
  uint64_t dropped = 0;

private:
  template <typename T> T block(size_t bytes) const {
    T parameters = {};
    parameters.size = bytes;
    parameters.ctx = context;
    return parameters;
  }

  CUptiResult readReasons() {
    size_t count = 0;
    auto number = block<CUpti_PCSamplingGetNumStallReasonsParams>(
        CUpti_PCSamplingGetNumStallReasonsParamsSize);
    number.numStallReasons = &count;
    if (CUptiResult code = cupti.cuptiPCSamplingGetNumStallReasons(&number); code != CUPTI_SUCCESS)
      return code;
    std::vector<uint32_t> indices(count);
    std::vector<std::string> names(count, std::string(stallNameBytes, 0));
    std::vector<char *> pointers;
    for (std::string &name : names)
      pointers.push_back(name.data());
    auto p =
        block<CUpti_PCSamplingGetStallReasonsParams>(CUpti_PCSamplingGetStallReasonsParamsSize);
    p.numStallReasons = count;
    p.stallReasonIndex = indices.data();
    p.stallReasons = pointers.data();
    CUptiResult code = cupti.cuptiPCSamplingGetStallReasons(&p);
    for (size_t i = 0; code == CUPTI_SUCCESS && i < count; ++i)
      reasons[indices[i]] = stallName(names[i].c_str());
    return code;
  }

  CUptiResult configure(unsigned period) {
    configured = std::make_unique<SampleBuffer>(reasons.size());
    std::vector<CUpti_PCSamplingConfigurationInfo> info;
    auto add = [&](CUpti_PCSamplingConfigurationAttributeType type)
        -> decltype(CUpti_PCSamplingConfigurationInfo::attributeData) & {
      info.emplace_back();
      info.back().attributeType = type;
      return info.back().attributeData;
    };
    info.reserve(8); // `add` hands out references
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
        .collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL)
        .enableStartStopControlData.enableStartStopControl = 1;
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT)
        .outputDataFormatData.outputDataFormat = CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED;
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
        .samplingDataBufferData.samplingDataBuffer = &configured->data;
    if (period)
      add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
          .samplingPeriodData.samplingPeriod = period;
    auto p =
        block<CUpti_PCSamplingConfigurationInfoParams>(CUpti_PCSamplingConfigurationInfoParamsSize);
    p.numAttributes = info.size();
    p.pPCSamplingConfigurationInfo = info.data();
    return cupti.cuptiPCSamplingSetConfigurationAttribute(&p);
  }

  void disable() {
    if (!isEnabled)
      return;
    auto p = block<CUpti_PCSamplingDisableParams>(CUpti_PCSamplingDisableParamsSize);
    cupti.cuptiPCSamplingDisable(&p);
    isEnabled = false;
  }

  /// Leaves the buffer empty.
  void take(CUpti_PCSamplingData &data) {
    dropped += data.droppedSamples;
    for (size_t i = 0; i < std::min(data.totalNumPcs, data.collectNumPcs); ++i) {
      const CUpti_PCSamplingPCData &pc = data.pPcData[i];
      SampledInstruction &into =
          instructions[{pc.functionName ? pc.functionName : "", pc.pcOffset}];
      into.cubinCrc = pc.cubinCrc;
      for (size_t k = 0; k < pc.stallReasonCount; ++k) {
        const CUpti_PCSamplingStallReason &stall = pc.stallReason[k];
        auto reason = reasons.find(stall.pcSamplingStallReasonIndex);
        if (stall.samples && reason != reasons.end() && !reason->second.empty())
          into.stalls[reason->second] += stall.samples;
      }
    }
    data.totalNumPcs = 0;
    data.droppedSamples = 0;
  }

  const Cupti &cupti;
  CUcontext context;
  bool isEnabled = false;
  std::map<uint32_t, std::string> reasons; ///< empty names count samples again
  std::unique_ptr<SampleBuffer> configured;
};

class SampledRun : public Execution {
public:
  SampledRun(Device &device, const Subject &subject, const SlabLayout &layout, const Slab &slab,
             const RunOptions &options)
      : Execution(device, subject, layout, slab.base(), options.poison, options.wallSeconds) {}
  bool run() {
    snapshotSymbols();
    return walk() && wait("the end of the plan") &&
           check(h.driver->cuCtxSynchronize(), "the device after the plan");
  }
  Problem problem() const { return {status, message, note}; }
};

/// The period, as a power of two, that makes about `wantedSamples`.
unsigned periodFor(const DeviceFacts &facts, double expectedUs) {
  double cycles = expectedUs * facts.maxSmMHz * facts.multiprocessors;
  if (cycles <= 0)
    return 0;
  auto period = static_cast<uint64_t>(std::max(1.0, cycles / wantedSamples));
  return std::clamp<unsigned>(static_cast<unsigned>(std::bit_width(period)), leastPeriod,
                              mostPeriod);
}

/// Sums instructions by source line.
void sumByLine(const Instructions &instructions, const std::string &cubin, LineSamples &result) {
  std::map<std::string, std::map<std::pair<std::string, unsigned>, SampledLine>> sums;
  bool hasLines = false;
  std::string why = "the image has no line table; compile with nvcc -lineinfo";
  for (const auto &[place, sampled] : instructions) {
    if (sampled.stalls.empty())
      continue;
    Problem problem;
    SourcePlace line =
        sourcePlace(cubin, place.first, place.second, problem).value_or(SourcePlace());
    if (problem)
      why = problem.message;
    hasLines |= line.line != 0;
    SampledLine &into = sums[place.first][{line.file, line.line}];
    into.file = line.file;
    into.line = line.line;
    for (const auto &[reason, count] : sampled.stalls) {
      into.stalls[reason] += count;
      into.samples += count;
    }
  }
  if (!hasLines) {
    result.noLines = sums.empty() ? "the kernels are too short to be sampled" : why;
    return;
  }
  for (auto &[kernel, lines] : sums) {
    std::vector<SampledLine> &list = result.lines[kernel];
    for (auto &[place, line] : lines)
      list.push_back(std::move(line));
    std::sort(list.begin(), list.end(), [](const SampledLine &a, const SampledLine &b) {
      return std::tie(b.samples, a.file, a.line) < std::tie(a.samples, b.file, b.line);
    });
  }
}

} // namespace

LineSamples kbrt::cuda::sampleLines(Device &device, const Subject &subject,
                                    const RunOptions &options, double expectedUs) {
  LineSamples result;
  Problem problem;
  auto fail = [&] {
    result.status = problem.status;
    result.message = problem.message;
    result.note = problem.note;
    return result;
  };
  auto give = [&](std::string why) {
    result.noLines = std::move(why);
    return result;
  };
  const Cupti *cupti = Cupti::get(Cupti::Sampling, problem);
  if (!cupti)
    return give(problem.message);
  const std::string &cubin = subject.image->getModule().bytes;
  if (imageKind(cubin).format != ImageKind::Cubin)
    return give("the image is no cubin: its machine code is the driver's, without lines");
  SlabLayout layout = SlabLayout::of(*subject.plan);
  Slab slab;
  if (!slab.allocate(device.getHandles(), layout.bytes, 0, problem))
    return fail();
  Sampler sampler(*cupti, device.getHandles().context);
  CUptiResult code = sampler.start(periodFor(device.getFacts(), expectedUs));
  if (code != CUPTI_SUCCESS)
    return give("CUPTI cannot sample: " + cupti->describe(code));
  // Only code that is loaded while the sampler is on is known to it.
  if (!subject.image->reload(problem))
    return fail();
  SampledRun run(device, subject, layout, slab, options);
  bool isDone = run.run();
  code = sampler.stop();
  problem = run.problem();
  if (!isDone)
    return fail();
  if (code != CUPTI_SUCCESS)
    return give("CUPTI could not read the samples: " + cupti->describe(code));
  result.dropped = sampler.dropped;
  // Other code, such as the driver's own, is not the image's.
  CUpti_GetCubinCrcParams crc = {};
  crc.size = CUpti_GetCubinCrcParamsSize;
  crc.cubin = cubin.data();
  crc.cubinSize = cubin.size();
  if (cupti->cuptiGetCubinCrc(&crc) == CUPTI_SUCCESS)
    std::erase_if(sampler.instructions,
                  [&](const auto &entry) { return entry.second.cubinCrc != crc.cubinCrc; });
  sumByLine(sampler.instructions, cubin, result);
  return result;
}
