//===- AccessQueriesTest.cpp - Access figures against hand-computed ones ----===//
#include "kb-opt/Analysis/AccessQueries.h"
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Analysis/Signature.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace kbopt;

namespace {

struct AccessQueries : testing::Test {
  AccessQueries() { context.loadDialect<kb::KbDialect>(); }

  /// The accesses of a kernel with this body, in order.
  std::vector<kb::AccessOp> accesses(StringRef body) {
    module = parseSourceString<ModuleOp>(
        ("kb.program \"a.cu\" { kb.kernel @k \"k\" params [#kb.param<\"x\" : \"float *\" bytes 8 "
         "pointer true element 4>, #kb.param<\"n\" : \"int\" bytes 4>] symbols [#kb.symbol<\"n\" "
         "param "
         "argument 1>, #kb.symbol<\"u\" varying>] {\n" +
         body + "\n} }")
            .str(),
        &context);
    std::vector<kb::AccessOp> result;
    if (module)
      module->walk([&](kb::AccessOp op) { result.push_back(op); });
    return result;
  }
  kb::AccessOp access(StringRef address, int bytes = 4, StringRef space = "global") {
    auto all = accesses(("kb.access load " + space + " <argument \"x\" argument 0> bytes " +
                         Twine(bytes) + " uniformity divergent at " + address)
                            .str());
    EXPECT_EQ(all.size(), 1u) << address.str();
    return all.at(0);
  }
  static LaunchValues block(int64_t x, int64_t y = 1, int64_t z = 1) {
    LaunchValues values;
    values.block = {x, y, z};
    return values;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(AccessQueries, ClassifiesStrides) {
  EXPECT_EQ(laneStride(access("<: tid.x * 4 + bid.x * bdim.x * 4>")).kind, StrideClass::Unit);
  EXPECT_EQ(laneStride(access("<: bid.x * 4>")).kind, StrideClass::Uniform);
  LaneStride two = laneStride(access("<: tid.x * 8>"));
  EXPECT_EQ(two.kind, StrideClass::Constant);
  EXPECT_EQ(two.bytes, 8);
  EXPECT_EQ(laneStride(access("<: tid.x * -4>")).bytes, -4);
  LaneStride row = laneStride(access("<with [n] : (tid.x + bid.x * bdim.x) * n * 4 + tid.y * 4>"));
  EXPECT_EQ(row.kind, StrideClass::Symbolic);
  EXPECT_EQ(row.text, "n * 4");
  EXPECT_EQ(laneStride(access("<with [n] : tid.x * n * 4 + tid.y * 4>"), 1).kind,
            StrideClass::Unit);
  EXPECT_EQ(laneStride(access("<: (tid.x floordiv 2) * 4>")).kind, StrideClass::Unknown);
}

TEST_F(AccessQueries, KnownSymbolsMakeStridesConstant) {
  LaunchValues values;
  values.symbols["n"] = 512;
  LaneStride stride = laneStride(access("<with [n] : tid.x * n * 4>"), 0, values);
  EXPECT_EQ(stride.kind, StrideClass::Constant);
  EXPECT_EQ(stride.bytes, 2048);
}

TEST_F(AccessQueries, StrideOfALoop) {
  auto all =
      accesses("kb.loop \"i\" uniform { kb.access load global <argument \"x\" argument 0> bytes 4 "
               "uniformity divergent at <over [i] with [n] : i * n * 4 + tid.x * 4> }");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(loopStride(all[0], "i").text, "n * 4");
  EXPECT_EQ(loopStride(all[0], "j").kind, StrideClass::Unknown);
  // u may be another value in the next iteration.
  all =
      accesses("kb.loop \"i\" uniform { kb.access load global <argument \"x\" argument 0> bytes 4 "
               "uniformity divergent at <over [i] with [u] : u * 4 + tid.x * 4> }");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(loopStride(all[0], "i").kind, StrideClass::Unknown);
}

TEST_F(AccessQueries, CountsSectors) {
  // 32 lanes of 4 bytes side by side: 128 bytes are 4 sectors.
  auto unit = requestCost(access("<: tid.x * 4>"), block(256));
  ASSERT_TRUE(unit);
  EXPECT_EQ(unit->sectors, 4u);
  EXPECT_EQ(unit->idealSectors, 4u);
  EXPECT_EQ(unit->bytesDistinct, 128u);
  // One element further they touch a fifth.
  EXPECT_EQ(requestCost(access("<: tid.x * 4 + 4>"), block(256))->sectors, 5u);
  // 8 bytes apart: 256 bytes.
  EXPECT_EQ(requestCost(access("<: tid.x * 8>"), block(256))->sectors, 8u);
  // A sector each.
  EXPECT_EQ(requestCost(access("<: tid.x * 4096>"), block(256))->sectors, 32u);
  // All lanes at one element.
  auto one = requestCost(access("<with [n] : bid.x * n * 4>"), block(256));
  EXPECT_EQ(one->sectors, 1u);
  EXPECT_EQ(one->bytesDistinct, 4u);
  // 16 bytes a lane: 512 bytes.
  EXPECT_EQ(requestCost(access("<: tid.x * 16>", 16), block(256))->sectors, 16u);
}

TEST_F(AccessQueries, WarpsFollowTheBlockShape) {
  // 16 x 16: a warp is two rows of 16 lanes, 16 * 4 = 64 bytes each.
  auto cost = requestCost(access("<: tid.y * 4096 + tid.x * 4>"), block(16, 16));
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->sectors, 4u);
  EXPECT_EQ(requestCost(access("<: tid.x * 4096 + tid.y * 4>"), block(16, 16))->sectors, 16u);
  // The last warp of 40 threads has 8 lanes.
  EXPECT_EQ(requestCost(access("<: tid.x * 4>"), block(40), 1)->lanes, 8u);
  LaunchValues unknownY;
  unknownY.block[0] = 16;
  EXPECT_FALSE(requestCost(access("<: tid.x * 4>"), unknownY));
}

TEST_F(AccessQueries, NeedsWhatMattersToTheLanes) {
  EXPECT_FALSE(requestCost(access("<with [n] : tid.x * n * 4>"), block(256)));
  EXPECT_FALSE(requestCost(access("<: tid.x * 4>"), LaunchValues()));
  LaunchValues values = block(256);
  values.symbols["n"] = 2;
  EXPECT_EQ(requestCost(access("<with [n] : tid.x * n * 4>"), values)->sectors, 8u);
  // An unknown shift of the whole warp does not.
  EXPECT_EQ(requestCost(access("<with [u] : tid.x * 4 + u * 4>"), block(256))->sectors, 4u);
}

TEST_F(AccessQueries, CountsBankConflicts) {
  auto shared = [&](StringRef address, int bytes, LaunchValues values) {
    return requestCost(access(address, bytes, "shared"), values)->wavefronts;
  };
  EXPECT_EQ(shared("<: tid.x * 4>", 4, block(32)), 1u);
  EXPECT_EQ(shared("<: tid.x * 8>", 4, block(32)), 2u);
  // A column of a [32][32] array: all lanes in one bank.
  EXPECT_EQ(shared("<: tid.x * 128>", 4, block(32, 32)), 32u);
  // Padded to [32][33]: none.
  EXPECT_EQ(shared("<: tid.x * 132>", 4, block(32, 32)), 1u);
  // A column of [16][16] by 16 x 16 threads: lanes 0..15 hit two banks 8 times, lanes 16..31 the
  // banks beside them.
  EXPECT_EQ(shared("<: tid.x * 64 + tid.y * 4>", 4, block(16, 16)), 8u);
  // All lanes read one word: a broadcast.
  EXPECT_EQ(shared("<: tid.y * 4>", 4, block(32, 8)), 1u);
  // 16 bytes a lane side by side: four visits, no fewer are possible.
  auto wide = requestCost(access("<: tid.x * 16>", 16, "shared"), block(32));
  EXPECT_EQ(wide->wavefronts, 4u);
  EXPECT_EQ(wide->idealWavefronts, 4u);
  EXPECT_EQ(shared("<: tid.x * 8>", 8, block(32)), 2u);
}

TEST_F(AccessQueries, BroadcastsOfWideElementsAreConflictFree) {
  // Half a warp is served at a time, and each half reads one element.
  auto cost = requestCost(access("<: tid.y * 8>", 8, "shared"), block(32, 8));
  EXPECT_EQ(cost->wavefronts, cost->idealWavefronts);
}

TEST_F(AccessQueries, CountsTheLanesThatTakePart) {
  auto guarded = [&](StringRef domain, LaunchValues values) {
    auto all = accesses(("kb.access load shared <argument \"x\" argument 0> bytes 4 uniformity "
                         "divergent at <: tid.x * 128> where " +
                         domain)
                            .str());
    EXPECT_EQ(all.size(), 1u) << domain.str();
    return activeRequestCost(all.at(0), values);
  };
  EXPECT_EQ(guarded("<: 7 - tid.x >= 0 exact>", block(256))->wavefronts, 8u);
  EXPECT_EQ(guarded("<: tid.x == 0 exact>", block(256))->lanes, 1u);
  // Another warp has all its lanes.
  EXPECT_EQ(guarded("<: tid.x - 40 >= 0 exact>", block(256))->lanes, 32u);
  EXPECT_EQ(guarded("<: tid.y - 1 == 0 exact>", block(32, 8))->lanes, 32u);
  // Which lanes pass is not known.
  EXPECT_EQ(guarded("<with [n] : n - tid.x >= 0 exact>", block(256))->lanes, 32u);
  EXPECT_FALSE(guarded("<: tid.x - 1000 >= 0 exact>", block(256)));
}

TEST_F(AccessQueries, CountsConflictsOfPaddedRows) {
  auto padded = [&](StringRef address, LaunchValues values, int64_t row, int64_t pad) {
    return paddedRequestCost(access(address, 4, "shared"), values, row, pad)->wavefronts;
  };
  EXPECT_EQ(padded("<: tid.x * 128>", block(32, 32), 128, 4), 1u);
  // Two rows of 16 lanes in a tile of 18 columns: one more does not part them.
  EXPECT_EQ(padded("<: tid.y * 72 + tid.x * 4>", block(16, 16), 72, 4), 2u);
  EXPECT_EQ(padded("<: tid.y * 72 + tid.x * 4>", block(16, 16), 72, 120), 1u);
}

TEST_F(AccessQueries, ReuseAndFootprint) {
  // Threads of a column read the same row element.
  kb::AccessOp row = access("<: tid.y * 4>");
  EXPECT_DOUBLE_EQ(*threadsPerElement(row, block(16, 16)), 16.0);
  EXPECT_EQ(*footprintPerBlock(row, block(16, 16)), 64u);
  EXPECT_EQ(*footprintPerBlock(access("<: tid.x * 4>"), block(256)), 1024u);
  EXPECT_FALSE(threadsPerElement(row, LaunchValues()));
}

TEST_F(AccessQueries, EvaluatesAtAPoint) {
  kb::ExprAttr expr =
      access("<with [n] : (tid.x mod 8) * n + (bid.x floordiv 2)>").getAddressAttr();
  llvm::StringMap<int64_t> point;
  point["tid.x"] = 19;
  point["n"] = 10;
  EXPECT_FALSE(evaluate(expr, point));
  point["bid.x"] = 5;
  EXPECT_EQ(evaluate(expr, point), 32);
}

TEST_F(AccessQueries, ThreadsOverlapByPresburger) {
  auto pair = [&](StringRef first, StringRef second, bool sameBlock = false,
                  StringRef domain = "") {
    std::string line =
        "kb.access store global <argument \"x\" argument 0> bytes 4 uniformity divergent at ";
    auto all = accesses((line + first + " " + domain + "\n" + line + second + " " + domain).str());
    EXPECT_EQ(all.size(), 2u);
    LaunchValues values;
    values.block = {std::nullopt, 1, 1};
    values.grid = {std::nullopt, 1, 1};
    return threadsMayOverlap(all[0], all[1], values, sameBlock).truth;
  };
  StringRef own = "<: tid.x * 4 + bid.x * bdim.x * 4>";
  EXPECT_EQ(pair(own, own), Truth::Refuted);
  // The neighbour's element.
  EXPECT_NE(pair(own, "<: tid.x * 4 + bid.x * bdim.x * 4 + 4>"), Truth::Refuted);
  // Even and odd elements.
  EXPECT_EQ(pair("<: tid.x * 8>", "<: tid.x * 8 + 4>"), Truth::Refuted);
  // One element for all.
  EXPECT_EQ(pair("<: 0>", "<: 0>"), Truth::Proven);
  // Blocks repeat what the first does.
  EXPECT_NE(pair("<: tid.x * 4>", "<: tid.x * 4>"), Truth::Refuted);
  EXPECT_EQ(pair("<: tid.x * 4>", "<: tid.x * 4>", true), Truth::Refuted);
}

TEST_F(AccessQueries, RowsOfUnknownLengthAreDisjoint) {
  std::string line = "kb.access store global <argument \"x\" argument 0> bytes 4 uniformity "
                     "divergent at <with [n] : "
                     "(tid.y + bid.y * bdim.y) * n * 4 + (tid.x + bid.x * bdim.x) * 4>";
  LaunchValues values;
  values.block[2] = values.grid[2] = 1;
  auto guarded = accesses(line + " where <with [n] : n - tid.x - bid.x * bdim.x - 1 >= 0>");
  ASSERT_EQ(guarded.size(), 1u);
  EXPECT_EQ(threadsMayOverlap(guarded[0], guarded[0], values).truth, Truth::Refuted);
  // Without the guard a row may run into the next.
  auto open = accesses(line);
  EXPECT_EQ(threadsMayOverlap(open[0], open[0], values).truth, Truth::Unknown);
}

TEST_F(AccessQueries, IterationsOfOneThread) {
  auto all = accesses("kb.loop \"i\" uniform trip_count 8 {\n"
                      "kb.access load global <argument \"x\" argument 0> bytes 4 uniformity "
                      "divergent at <over [i] : i * 4>\n"
                      "kb.access store global <argument \"x\" argument 0> bytes 4 uniformity "
                      "divergent at <over [i] : i * 4 + 4>\n"
                      "kb.access store global <argument \"x\" argument 0> bytes 4 uniformity "
                      "divergent at <over [i] : i * 4 + 32>\n}");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(sameThreadMayOverlap(all[0], all[1], false).truth, Truth::Refuted);
  EXPECT_EQ(sameThreadMayOverlap(all[0], all[1], true).truth, Truth::Proven);
  EXPECT_EQ(sameThreadMayOverlap(all[0], all[2], true).truth, Truth::Refuted);
}

TEST_F(AccessQueries, SignatureWeighsLoops) {
  accesses("kb.shared \"tile\" : \"float\" element 4 extents [16, 17]\n"
           "kb.loop \"i\" uniform trip_count 8 {\n"
           "kb.access load global <argument \"x\" argument 0> bytes 4 uniformity divergent at "
           "<over [i] : tid.x * 4>\n"
           "kb.compute {ffma.f32 = 2 : i64, iadd.i32 = 3 : i64}\n}\n"
           "kb.access store global <argument \"x\" argument 0> bytes 4 uniformity divergent\n"
           "kb.branch divergent\nkb.barrier block uniform");
  ASSERT_TRUE(module);
  kb::KernelOp kernel;
  module->walk([&](kb::KernelOp op) { kernel = op; });
  StaticSignature signature = staticSignature(kernel);
  EXPECT_EQ(signature.loads, 1u);
  EXPECT_EQ(signature.stores, 1u);
  EXPECT_EQ(signature.unitStride, 1u);
  EXPECT_EQ(signature.unknownStride, 1u);
  EXPECT_DOUBLE_EQ(signature.flops, 8 * 2 * 2);
  EXPECT_DOUBLE_EQ(signature.bytes, 8 * 4 + 4);
  EXPECT_DOUBLE_EQ(signature.operations["iadd.i32"], 24);
  EXPECT_EQ(signature.sharedBytes, 16u * 17 * 4);
  EXPECT_EQ(signature.barriers, 1u);
  EXPECT_EQ(signature.maxLoopDepth, 1u);
  EXPECT_EQ(signature.divergentBranches, 1u);
  EXPECT_TRUE(signature.complete);
}

} // namespace
