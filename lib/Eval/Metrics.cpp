//===- Metrics.cpp - Counts under their CUPTI names -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the one mapping from the CPU device's counts and the model to the metric
// names of EVALUATION.md. A metric that cannot be modelled is left out.
//
//===----------------------------------------------------------------------===//
#include "LaunchModel.h"
#include <algorithm>

using namespace llvm;
using kbrt::Op;

namespace kbopt {
namespace {

class Metrics {
public:
  Metrics(const LaunchModel &model, Limiter limiter) : model(model), limiter(limiter) {}
  std::map<std::string, double> values;

  void time(double floorUs);
  void utilisation();
  void memory();
  void pipes();
  void stalls();

private:
  /// Per cent of the busiest SM's cycles.
  double share(double cycles) const {
    return model.cycles > 0 ? std::min(100.0, 100 * cycles / model.cycles) : 0;
  }
  const LaunchModel &model;
  Limiter limiter;
};

void Metrics::time(double floorUs) {
  const double us = model.seconds() * 1e6;
  values["kbopt__time_us"] = us;
  values["kbopt__floor_us"] = floorUs;
  values["kbopt__launch_overhead_us"] = model.chip.launchOverheadUs;
  values["kbopt__waves"] = model.waves / std::max(1.0, model.counters.blockImbalance);
  values["kbopt__sample_error"] = model.counters.sampleError;
  values["kbopt__occupancy"] = model.occupancy.fraction;
  values["kbopt__limited_by_registers"] = model.occupancy.limiter == OccupancyLimiter::Registers;
  values["kbopt__limited_by_shared"] = model.occupancy.limiter == OccupancyLimiter::SharedMemory;
  values["kbopt__block_starts_us"] =
      limiter == Limiter::BlockStarts ? model.blockStarts / model.chip.clockHz() * 1e6 : 0;
  if (model.resources && model.resources->registers)
    values["kbopt__registers"] = *model.resources->registers;
  values["gpu__time_duration.sum"] = us * 1000;
  values["gpc__cycles_elapsed.max"] = model.cycles;
  const double balance =
      model.shape.blocks / (model.blocksOnBusiestSm * std::max(1.0, model.chip.smCount));
  values["sm__cycles_active.max"] = model.cycles;
  values["sm__cycles_active.avg"] = model.cycles * std::min(1.0, balance);
}

void Metrics::utilisation() {
  const kbrt::KernelCounters &c = model.counters;
  values["smsp__inst_executed.sum"] = c.warpInstructions;
  values["smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"] =
      c.activeLanesPerInstruction();
  values["smsp__issue_active.avg.pct_of_peak_sustained_active"] = share(model.issue);
  values["sm__warps_active.avg.pct_of_peak_sustained_active"] =
      100 * model.residentWarps / std::max(1u, model.chip.maxWarpsPerSm());
  values["smsp__warps_active.avg.per_cycle_active"] =
      model.residentWarps / std::max(1.0, model.chip.schedulersPerSm);
}

void Metrics::memory() {
  const kbrt::KernelCounters &c = model.counters;
  const kbrt::TrafficCounters &t = c.traffic;
  values["dram__bytes_read.sum"] = t.dramReadBytes;
  values["dram__bytes_write.sum"] = t.dramWriteBytes;
  if (model.seconds() > 0)
    values["dram__throughput.avg.pct_of_peak_sustained_elapsed"] =
        100 * (t.dramReadBytes + t.dramWriteBytes) /
        (model.chip.dramBytesPerSecond * model.seconds());
  double l2Bytes = t.l2ReadBytes + t.l2WriteBytes + t.l2AtomicBytes;
  values["lts__t_bytes.sum"] = l2Bytes;
  values["l1tex__t_bytes.sum"] =
      kbrt::sectorBytes * (c.globalLoad.sectors + c.globalStore.sectors + c.globalAtomic.sectors);
  values["lts__t_sectors_op_atom.sum"] = c.globalAtomic.sectors;
  values["lts__t_sectors_op_red.sum"] = 0; // counted with atom: nvcc decides which it is
  if (t.l1LoadSectors > 0)
    values["l1tex__t_sector_hit_rate.pct"] = 100 * t.l1LoadHitSectors / t.l1LoadSectors;
  if (t.l2ReadBytes > 0)
    values["lts__t_sector_hit_rate.pct"] =
        100 * (1 - std::min(1.0, t.dramReadBytes / t.l2ReadBytes));

  auto global = [&](const kbrt::AccessCounters &access, StringRef suffix) {
    std::string op = ("_mem_global_op_" + suffix).str();
    values["l1tex__t_sectors_pipe_lsu" + op + ".sum"] = access.sectors;
    values["l1tex__t_requests_pipe_lsu" + op + ".sum"] = access.requests;
    if (access.sectors > 0)
      values["smsp__sass_average_data_bytes_per_sector" + op + ".pct"] =
          100 * access.bytesPerSectorFraction();
  };
  global(c.globalLoad, "ld");
  global(c.globalStore, "st");
  double requests = c.globalLoad.requests + c.globalStore.requests;
  if (requests > 0)
    values["kbopt__ideal_sectors_per_request"] =
        (c.globalLoad.idealSectors + c.globalStore.idealSectors) / requests;

  auto shared = [&](const kbrt::AccessCounters &access, StringRef suffix) {
    std::string op = ("_mem_shared_op_" + suffix + ".sum").str();
    values["l1tex__data_bank_conflicts_pipe_lsu" + op] = std::max(0.0, access.bankConflicts());
    values["l1tex__data_pipe_lsu_wavefronts" + op] = access.sharedWavefronts;
  };
  kbrt::AccessCounters loads = c.sharedLoad;
  loads.sharedWavefronts += c.sharedAtomic.sharedWavefronts;
  loads.idealSharedWavefronts += c.sharedAtomic.idealSharedWavefronts;
  shared(loads, "ld");
  shared(c.sharedStore, "st");
  values["l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"] =
      share(model.globalWavefronts + model.sharedWavefronts);

  // What ptxas spills is moved at least once per thread; local arrays that
  // stayed in memory are counted.
  double loadSectors = model.usesLocalMemory ? c.localLoad.sectors : 0;
  double storeSectors = model.usesLocalMemory ? c.localStore.sectors : 0;
  if (model.resources) {
    double sectorsPerByte = c.warps * kbrt::warpLanes / kbrt::sectorBytes;
    loadSectors += model.resources->spillLoadBytes.value_or(0) * sectorsPerByte;
    storeSectors += model.resources->spillStoreBytes.value_or(0) * sectorsPerByte;
    values["kbopt__spilled_bytes"] =
        model.resources->spillLoadBytes.value_or(0) + model.resources->spillStoreBytes.value_or(0);
  }
  values["l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"] = loadSectors;
  values["l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"] = storeSectors;
}

void Metrics::pipes() {
  auto pipe = [&](const char *name, double cycles) {
    values[std::string("sm__inst_executed_pipe_") + name + ".avg.pct_of_peak_sustained_active"] =
        share(cycles);
  };
  pipe("alu", model.alu);
  pipe("fma", model.fma);
  pipe("fp64", model.fp64);
  pipe("xu", model.xu);
  pipe("lsu", model.lsu);
  values["sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"] = share(model.fma);
  values["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"] = share(model.tensor);
  const auto &by = model.counters.threadInstructionsByOp;
  auto operation = [&](const char *name, std::initializer_list<Op> ops) {
    double sum = 0;
    for (Op op : ops)
      sum += by[static_cast<size_t>(op)];
    values[std::string("smsp__sass_thread_inst_executed_op_") + name + "_pred_on.sum"] = sum;
  };
  operation("fadd", {Op::FAdd});
  operation("fmul", {Op::FMul});
  operation("ffma", {Op::FFma});
  operation("dadd", {Op::DAdd});
  operation("dmul", {Op::DMul});
  operation("dfma", {Op::DFma});
  operation("hadd", {Op::HAdd});
  operation("hmul", {Op::HMul});
  operation("hfma", {Op::HFma});
  operation("integer", {Op::IntAdd, Op::IntMul, Op::IntDiv, Op::IntOther});
}

void Metrics::stalls() {
  if (model.instructionsPerWarp <= 0)
    return;
  // A warp's time is what it waits for alone, and a queue in front of the
  // resource that limits the launch.
  double perWarp = model.cycles / std::max({1.0, model.waves, model.counters.blockImbalance});
  double queue = std::max(0.0, perWarp - model.warpLatency());
  std::map<std::string, double> cycles;
  cycles["long_scoreboard"] = model.globalLatency;
  cycles["short_scoreboard"] = model.sharedLatency;
  cycles["barrier"] = model.barrierLatency;
  cycles["branch_resolving"] = model.branchLatency;
  cycles["wait"] = std::max(0.0, model.arithmeticLatency - model.instructionsPerWarp);
  cycles["math_pipe_throttle"] = cycles["lg_throttle"] = cycles["mio_throttle"] = 0;
  cycles["not_selected"] = 0;
  cycles["selected"] = model.instructionsPerWarp;
  switch (limiter) {
  case Limiter::Dram:
  case Limiter::L2:
  case Limiter::Latency:
    cycles["long_scoreboard"] += queue;
    break;
  case Limiter::L1Wavefronts:
  case Limiter::Atomics:
    cycles["lg_throttle"] += queue;
    break;
  case Limiter::SharedWavefronts:
    cycles["mio_throttle"] += queue;
    break;
  case Limiter::Issue:
    cycles["not_selected"] += queue;
    break;
  case Limiter::BlockStarts:
    break; // no thread waits yet
  default:
    cycles["math_pipe_throttle"] += queue;
    break;
  }
  for (const auto &[name, value] : cycles)
    values["smsp__average_warps_issue_stalled_" + name + "_per_issue_active.ratio"] =
        value / model.instructionsPerWarp;
}

} // namespace

std::map<std::string, double> launchMetrics(const LaunchModel &model, Limiter limiter,
                                            double floorUs) {
  Metrics metrics(model, limiter);
  metrics.time(floorUs);
  metrics.utilisation();
  metrics.memory();
  metrics.pipes();
  metrics.stalls();
  return std::move(metrics.values);
}

} // namespace kbopt
