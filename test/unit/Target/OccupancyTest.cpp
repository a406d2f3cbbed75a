//===- OccupancyTest.cpp - Against CUDA's own answers ---------------------===//
//
// Expected blocks are those of NVIDIA's occupancy calculator (cuda_occupancy.h)
// for the compute capability.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Target/Occupancy.h"
#include "gtest/gtest.h"

using namespace kbopt;

static Occupancy on(const char *name, unsigned threads, unsigned registers, uint64_t shared) {
  llvm::Expected<ChipInfo> chip = loadChip(name);
  if (!chip) {
    ADD_FAILURE() << llvm::toString(chip.takeError());
    return {};
  }
  return computeOccupancy(*chip, {threads, registers, shared});
}

namespace {
struct Row {
  const char *chip;
  unsigned threads, registers;
  uint64_t shared;
  unsigned blocks;
  OccupancyLimiter limiter;
};
} // namespace

TEST(Occupancy, KnownValues) {
  using enum OccupancyLimiter;
  for (Row row : {
           Row{"h200", 256, 32, 0, 8, Threads},
           Row{"h200", 32, 16, 0, 32, Blocks},
           Row{"h200", 256, 40, 0, 6, Registers}, // 1,280 a warp: 12 a quarter, 48 warps in 8s
           Row{"h200", 256, 64, 0, 4, Registers},
           Row{"h200", 1024, 64, 0, 1, Registers},
           Row{"h200", 96, 128, 0, 5, Registers},            // 16 warps in 3s
           Row{"h200", 128, 32, 48 * 1024, 4, SharedMemory}, // 49 KB each of 228
           Row{"h200", 128, 32, 227 * 1024, 1, SharedMemory},
           Row{"a100", 256, 32, 16 * 1024, 8, Threads},
           Row{"a100", 256, 32, 20 * 1024, 7, SharedMemory}, // 21 KB each of 164
           Row{"a6000", 32, 32, 0, 16, Blocks},
           Row{"a6000", 1024, 32, 0, 1, Threads}, // 48 warps hold one block of 32
           Row{"l40s", 64, 32, 0, 24, Threads},
           Row{"l40s", 32, 32, 0, 24, Blocks},
           Row{"h200", 100, 0, 0, 16, Threads}, // 4 warps
       }) {
    Occupancy got = on(row.chip, row.threads, row.registers, row.shared);
    std::string what = std::string(row.chip) + " " + std::to_string(row.threads) + " threads, " +
                       std::to_string(row.registers) + " registers, " + std::to_string(row.shared) +
                       " bytes";
    EXPECT_EQ(got.blocksPerSm, row.blocks) << what;
    EXPECT_EQ(got.limiter, row.limiter) << what << ": " << limiterName(got.limiter).str();
  }
}

TEST(Occupancy, FractionCountsWarps) {
  EXPECT_DOUBLE_EQ(on("h200", 256, 64, 0).fraction, 0.5);
  EXPECT_DOUBLE_EQ(on("a6000", 1024, 32, 0).fraction, 32.0 / 48);
}

TEST(Occupancy, ImpossibleSaysWhy) {
  EXPECT_EQ(on("h200", 1025, 32, 0).reason, "1025 threads per block, h200 allows 1024");
  EXPECT_EQ(on("h200", 0, 32, 0).reason, "a block has no threads");
  EXPECT_EQ(on("h200", 128, 256, 0).reason, "256 registers per thread, h200 allows 255");
  EXPECT_EQ(on("a6000", 128, 32, 100 * 1024).reason,
            "102400 bytes of shared memory per block, a6000 allows 101376");
  EXPECT_EQ(on("h200", 1024, 128, 0).reason,
            "128 registers for each of 1024 threads exceed the 65536 registers of a block");
  EXPECT_EQ(on("h200", 1024, 128, 0).blocksPerSm, 0u);
}
