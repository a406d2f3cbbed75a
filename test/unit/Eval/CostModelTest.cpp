#include "kb-opt/Eval/CostModel.h"
#include "gtest/gtest.h"

using namespace kbopt;
using kbrt::Op;

namespace {

/// A streaming kernel of 1 Mi threads in blocks of 1024: one load, one store and
/// one fma per thread, `sectorsPerRequest` sectors per global request.
struct CostModelTest : testing::Test {
  ChipInfo chip;
  kbrt::KernelCounters counters;
  LaunchShape shape;
  KernelResources resources;

  void SetUp() override {
    auto h200 = loadChip("h200");
    ASSERT_TRUE(bool(h200)) << llvm::toString(h200.takeError());
    chip = *h200;
    resources.registers = 32;
    resources.stackBytes = 0;
    stream(4);
  }

  void stream(double sectorsPerRequest) {
    const double warps = 32768;
    counters = {};
    counters.kernel = "k";
    counters.blocks = shape.blocks = 1024;
    counters.threadsPerBlock = shape.threadsPerBlock = 1024;
    counters.warps = warps;
    counters.warpInstructions = 10 * warps;
    counters.threadInstructions = 320 * warps;
    counters.warpInstructionsByOp[size_t(Op::FFma)] = warps;
    counters.threadInstructionsByOp[size_t(Op::FFma)] = 32 * warps;
    counters.fp32Operations = 64 * warps;
    for (kbrt::AccessCounters *access : {&counters.globalLoad, &counters.globalStore}) {
      access->requests = warps;
      access->lanes = 32 * warps;
      access->bytesRequested = access->bytesUsed = 128 * warps;
      access->sectors = sectorsPerRequest * warps;
      access->idealSectors = 4 * warps;
      access->lineWavefronts = sectorsPerRequest / 4 * warps;
    }
    counters.traffic.l1LoadSectors = sectorsPerRequest * warps;
    counters.traffic.l2ReadBytes = counters.traffic.l2WriteBytes = 32 * sectorsPerRequest * warps;
    counters.traffic.uniqueReadBytes = counters.traffic.uniqueWrittenBytes = 128 * warps;
    counters.traffic.dramReadBytes = counters.traffic.dramWriteBytes = 128 * warps;
    kbrt::SiteCounters load;
    load.kind = kbrt::AccessKind::Load;
    load.space = kbrt::MemorySpace::Global;
    load.access = counters.globalLoad;
    counters.sites.push_back(load);
  }
  ModelledLaunch model() { return modelLaunch(counters, shape, &resources, chip); }
};

TEST_F(CostModelTest, AStreamIsLimitedByDramNearItsFloor) {
  ModelledLaunch launch = model();
  EXPECT_EQ(launch.limiter, Limiter::Dram);
  // 8 MiB at 4.8 TB/s.
  EXPECT_NEAR(launch.floorUs, 2 * 128 * 32768 / 4.8e12 * 1e6, 1e-9);
  EXPECT_GT(launch.us, launch.floorUs);
  EXPECT_LT(launch.us, 1.3 * launch.floorUs);
  EXPECT_GT(launch.metrics.at("dram__throughput.avg.pct_of_peak_sustained_elapsed"), 75);
  EXPECT_EQ(launch.metrics.at("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"),
            100);
}

TEST_F(CostModelTest, UncoalescedAccessCostsMoreAndIsSeenInTheMetrics) {
  double coalesced = model().us;
  stream(32);
  ModelledLaunch launch = model();
  EXPECT_GT(launch.us, 2 * coalesced);
  EXPECT_EQ(launch.metrics.at("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"),
            12.5);
  EXPECT_EQ(launch.metrics.at("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 32 * 32768.0);
  EXPECT_EQ(launch.metrics.at("kbopt__ideal_sectors_per_request"), 4);
}

TEST_F(CostModelTest, BankConflictsBecomeSharedWavefronts) {
  counters.sharedLoad.requests = counters.sharedLoad.idealSharedWavefronts = 10 * 32768;
  counters.sharedLoad.sharedWavefronts = 32 * 10 * 32768.0;
  ModelledLaunch launch = model();
  EXPECT_EQ(launch.limiter, Limiter::SharedWavefronts);
  EXPECT_EQ(launch.metrics.at("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
            31 * 10 * 32768.0);
  EXPECT_GT(launch.metrics.at("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"),
            60);
  EXPECT_GT(
      launch.metrics.at("smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio"),
      launch.metrics.at(
          "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"));
}

TEST_F(CostModelTest, DoublePrecisionTakesItsOwnPipe) {
  counters.warpInstructions += 400 * 32768.0;
  counters.warpInstructionsByOp[size_t(Op::DFma)] = 400 * 32768.0;
  ModelledLaunch h200 = model();
  EXPECT_EQ(h200.limiter, Limiter::Fp64);
  auto l40s = loadChip("l40s");
  ASSERT_TRUE(bool(l40s));
  chip = *l40s;
  EXPECT_GT(model().us, 5 * h200.us) << "consumer chips have few fp64 lanes";
}

TEST_F(CostModelTest, OneBlockLeavesTheChipIdle) {
  shape.blocks = counters.blocks = 1;
  ModelledLaunch launch = model();
  EXPECT_LT(launch.waves, 1);
  EXPECT_LT(launch.metrics.at("sm__cycles_active.avg") / launch.metrics.at("sm__cycles_active.max"),
            0.8);
}

TEST_F(CostModelTest, FewWarpsCannotHideLatency) {
  // A dependent chain: 1000 loads per thread at one site in one small block per SM.
  shape.blocks = counters.blocks = 132;
  shape.threadsPerBlock = counters.threadsPerBlock = 32;
  counters = {};
  counters.kernel = "k";
  counters.blocks = 132;
  counters.warps = 132;
  counters.warpInstructions = 132 * 3000;
  counters.globalLoad.requests = 132 * 1000;
  counters.globalLoad.lineWavefronts = counters.globalLoad.requests;
  counters.globalLoad.sectors = 4 * counters.globalLoad.requests;
  counters.traffic.l2ReadBytes = counters.traffic.dramReadBytes = 132 * 1000 * 128;
  kbrt::SiteCounters load;
  load.space = kbrt::MemorySpace::Global;
  load.kind = kbrt::AccessKind::Load;
  load.access = counters.globalLoad;
  counters.sites.push_back(load);
  ModelledLaunch launch = model();
  EXPECT_EQ(launch.limiter, Limiter::Latency);
  EXPECT_GT(
      launch.metrics.at("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"),
      1);
  counters.traffic.dramReadBytes /= 100;
  EXPECT_NEAR(model().us, launch.us, 0.1 * launch.us) << "all wait for whoever reads first";
}

TEST_F(CostModelTest, EmptyBlocksTakeTurns) {
  // Two blocks on an SM at a time: 179 us were measured.
  counters = {};
  counters.blocks = shape.blocks = 262144;
  counters.warps = counters.warpInstructions = 32.0 * 262144;
  EXPECT_NEAR(model().us, 179, 18);
}

TEST_F(CostModelTest, SmallBlocksStartOneAfterTheOther) {
  double large = model().us;
  counters.blocks = shape.blocks = 32768;
  counters.threadsPerBlock = shape.threadsPerBlock = 32;
  ModelledLaunch launch = model();
  EXPECT_EQ(launch.limiter, Limiter::BlockStarts);
  // 0.6 ns a block.
  EXPECT_NEAR(launch.us, 32768 * 0.6e-3, 0.1 * launch.us);
  EXPECT_GT(launch.us, 5 * large);
}

TEST_F(CostModelTest, IdleBlocksChangeNothing) {
  // The same work in 4 blocks, alone and among 252 that end at once.
  auto inBlocks = [&](unsigned blocks) {
    counters = {};
    counters.blocks = shape.blocks = blocks;
    shape.threadsPerBlock = 256;
    counters.warps = 8.0 * blocks;
    counters.blockImbalance = blocks / 4.0;
    counters.warpInstructions = 32 * 5000;
    kbrt::SiteCounters load;
    load.kind = kbrt::AccessKind::Load;
    load.space = kbrt::MemorySpace::Global;
    load.access.requests = load.access.lineWavefronts = 32 * 1000;
    load.access.sectors = 4 * load.access.requests;
    counters.globalLoad = load.access;
    counters.sites.assign(1, load);
    counters.traffic.l2ReadBytes = counters.traffic.dramReadBytes = 128 * 32 * 1000;
    return model();
  };
  const ModelledLaunch alone = inBlocks(4), among = inBlocks(256);
  EXPECT_NEAR(among.us, alone.us, 0.05 * alone.us);
  EXPECT_EQ(among.limiter, alone.limiter);
  for (const char *name :
       {"kbopt__waves", "sm__cycles_active.avg",
        "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"})
    EXPECT_NEAR(among.metrics.at(name), alone.metrics.at(name), 0.05 * alone.metrics.at(name))
        << name;
}

TEST_F(CostModelTest, AtomicsToFewLinesWaitForEachOther) {
  counters.globalAtomic.requests = 32768;
  counters.globalAtomic.sectors = counters.globalAtomic.lineWavefronts = 8 * 32768;
  counters.traffic.atomicLineShare = 1e-5;
  EXPECT_LT(model().us, 5);
  counters.traffic.atomicLineShare = 1.0 / 8; // 256 counters: 274 us were measured
  ModelledLaunch launch = model();
  EXPECT_EQ(launch.limiter, Limiter::Atomics);
  EXPECT_NEAR(launch.us, 274, 27);
  // All lanes of all warps add a float to one address: 1850 us were measured.
  counters.globalAtomic.sectors = counters.globalAtomic.lineWavefronts = 32768;
  counters.globalAtomic.atomicSerialisation = 32 * 32768;
  counters.traffic.atomicLineShare = 1;
  EXPECT_NEAR(model().us, 1850, 90);
}

TEST_F(CostModelTest, UnrolledSourceHasAsManyLoadsInFlightAsItSays) {
  // One load 512 times in a loop of one warp on each of 32 SMs, every lane in a line of its own.
  auto looped = [&](unsigned copies) {
    counters = {};
    counters.warps = shape.blocks = counters.blocks = 32;
    shape.threadsPerBlock = 32;
    kbrt::SiteCounters load;
    load.kind = kbrt::AccessKind::Load;
    load.space = kbrt::MemorySpace::Global;
    load.access.requests = 512.0 * 32 / copies;
    load.access.sectors = load.access.lineWavefronts = 32 * load.access.requests;
    load.elementBytes = 4;
    counters.sites.assign(copies, load);
    counters.globalLoad.sectors = counters.globalLoad.lineWavefronts = 32 * 512.0 * 32;
    counters.traffic.l2ReadBytes = counters.traffic.dramReadBytes =
        32 * counters.globalLoad.sectors;
    return model().us;
  };
  double asItIs = looped(1);
  EXPECT_GT(looped(2), 1.5 * asItIs) << "a pragma keeps the compiler from unrolling more";
  EXPECT_GT(looped(2), looped(4));
  EXPECT_NEAR(looped(16), asItIs, 1e-9 * asItIs);
}

TEST_F(CostModelTest, LoadsThatAStoreOrAPragmaKeepsApartWaitOneAfterTheOther) {
  // Two loads 256 times in a loop of one warp on each of 32 SMs.
  auto looped = [&](unsigned firstGroup, unsigned secondGroup, bool areAlone) {
    counters = {};
    counters.warps = shape.blocks = counters.blocks = 32;
    shape.threadsPerBlock = 32;
    kbrt::SiteCounters load;
    load.kind = kbrt::AccessKind::Load;
    load.space = kbrt::MemorySpace::Global;
    load.access.requests = load.access.lineWavefronts = 256.0 * 32;
    load.access.sectors = 4 * load.access.requests;
    load.elementBytes = 4;
    load.isAlone = areAlone;
    counters.sites.assign(2, load);
    counters.sites[0].loadGroup = firstGroup;
    counters.sites[1].loadGroup = secondGroup;
    counters.sites[1].line = 1;
    counters.globalLoad.lineWavefronts = 512 * 32;
    counters.globalLoad.sectors = 4 * counters.globalLoad.lineWavefronts;
    counters.traffic.l2ReadBytes = counters.traffic.dramReadBytes =
        32 * counters.globalLoad.sectors;
    return model().us;
  };
  double unrolled = looped(1, 1, false), pair = looped(1, 1, true), inTurn = looped(1, 2, true);
  EXPECT_GT(pair, 5 * unrolled);
  EXPECT_GT(inTurn, 1.8 * pair);
  EXPECT_LT(inTurn, 2.2 * pair);
}

TEST_F(CostModelTest, ScatteredStoresDrainSlowerThanLoads) {
  counters.globalStore.lineWavefronts = 0;
  counters.globalLoad.lineWavefronts = 64 * 32768;
  double loads = model().us;
  std::swap(counters.globalStore.lineWavefronts, counters.globalLoad.lineWavefronts);
  EXPECT_GT(model().us, 1.5 * loads);
}

TEST_F(CostModelTest, RegistersLimitOccupancyOnlyWhereTheyAreKnown) {
  shape.blocks = counters.blocks = 4096;
  shape.threadsPerBlock = counters.threadsPerBlock = 256;
  resources.registers = 255;
  ModelledLaunch known = model();
  EXPECT_EQ(known.metrics.at("kbopt__limited_by_registers"), 1);
  EXPECT_LT(known.occupancy, 0.5);
  ModelledLaunch unknown = modelLaunch(counters, shape, nullptr, chip);
  EXPECT_FALSE(unknown.registersKnown);
  EXPECT_EQ(unknown.occupancy, 1);
  EXPECT_FALSE(unknown.metrics.count("kbopt__registers"));
}

TEST_F(CostModelTest, ArraysInRegistersAreNoLocalTraffic) {
  counters.localLoad.sectors = counters.localLoad.lineWavefronts = 1e6;
  EXPECT_EQ(model().metrics.at("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"), 0);
  resources.stackBytes = 64;
  EXPECT_EQ(model().metrics.at("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"), 1e6);
}

TEST_F(CostModelTest, APlanAddsItsLaunchesAndNamesTheLongestKernel) {
  RunResult run;
  LaunchRecord record;
  record.kernel = "k";
  record.grid[0] = 1024;
  record.block[0] = 1024;
  record.counters = counters;
  run.launches = {record, record};
  stream(32);
  record.kernel = "slow";
  record.counters = counters;
  run.launches.push_back(record);
  auto plan = modelPlan(run, DeviceCode(), chip);
  ASSERT_TRUE(bool(plan));
  EXPECT_EQ(plan->launches.size(), 3u);
  EXPECT_EQ(plan->longestKernel, "slow");
  EXPECT_NEAR(plan->us, plan->launches[0].us * 2 + plan->launches[2].us + 3 * chip.launchOverheadUs,
              1e-9);
  EXPECT_NEAR(plan->floorUs, 3 * (plan->launches[0].floorUs + chip.launchOverheadUs), 1e-9);
  auto metrics = kernelMetrics(*plan, "k");
  EXPECT_NEAR(metrics.at("kbopt__time_us"), plan->launches[0].us, 1e-9) << "per launch";
  EXPECT_NEAR(metrics.at("dram__bytes_read.sum"), 128 * 32768, 1e-6);
  EXPECT_TRUE(kernelMetrics(*plan, "none").empty());
}

TEST_F(CostModelTest, ALaunchWithoutCountersIsAnError) {
  RunResult run;
  run.launches.emplace_back();
  run.launches.back().kernel = "k";
  auto plan = modelPlan(run, DeviceCode(), chip);
  ASSERT_FALSE(plan);
  EXPECT_EQ(llvm::toString(plan.takeError()).find("no counters for a launch of k"), 0u);
}

TEST_F(CostModelTest, NothingRunTakesNoTime) {
  counters = {};
  counters.kernel = "k";
  ModelledLaunch launch = model();
  EXPECT_EQ(launch.us, 0);
  EXPECT_TRUE(launch.terms.empty());
}

} // namespace
