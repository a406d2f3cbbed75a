//===- CatalogueTest.cpp - The seed and its errors ------------------------===//
#include "kb-opt/Knowledge/Catalogue.h"
#include "kb-opt/Knowledge/State.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <set>

using namespace kbopt;

TEST(Catalogue, HoldsAllEntriesOnce) {
  const Catalogue &catalogue = Catalogue::builtin();
  ASSERT_EQ(catalogue.optimizations().size(), 57u);
  std::set<std::string> names, states;
  for (const std::string &name : StateRules::builtin().names())
    states.insert(name);
  for (auto [index, entry] : llvm::enumerate(catalogue.optimizations())) {
    EXPECT_EQ(entry.number, index + 1);
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    for (const StateAnswer &answer : entry.answers) {
      EXPECT_TRUE(states.count(answer.state)) << entry.name << ": " << answer.state;
      EXPECT_GT(answer.removes, 0) << entry.name;
    }
  }
}

TEST(Catalogue, FindsByNameAndAlias) {
  const Catalogue &catalogue = Catalogue::builtin();
  ASSERT_NE(catalogue.find("bank_conflict_padding"), nullptr);
  EXPECT_EQ(catalogue.find("bank_conflict_padding")->name, "pad-shared-array");
  EXPECT_EQ(catalogue.find("pad-shared-array")->number, 35u);
  EXPECT_EQ(catalogue.find("make-it-fast"), nullptr);
  EXPECT_TRUE(catalogue.find("fast-math-intrinsics")->changesNumerics);
  EXPECT_FALSE(catalogue.find("unroll-loop")->changesNumerics);
  EXPECT_EQ(catalogue.find("tma-bulk-copy")->minimumArch, 90u);
}

TEST(Catalogue, EdgesOfTheSeed) {
  const Catalogue &catalogue = Catalogue::builtin();
  EXPECT_TRUE(catalogue.excludes("launch-bounds", "limit-registers"));
  EXPECT_TRUE(catalogue.excludes("limit-registers", "launch-bounds"));
  EXPECT_FALSE(catalogue.excludes("launch-bounds", "unroll-loop"));
  EXPECT_GT(catalogue.bonus({"add-restrict-const"}, "vectorize-loads"), 0);
  EXPECT_GT(catalogue.bonus({"unroll-loop"}, "tune-block-size"), 0); // retune
  EXPECT_EQ(catalogue.bonus({}, "vectorize-loads"), 0);
  // From the folder alone: the usual bonus, and no entry of the catalogue is needed.
  EXPECT_EQ(catalogue.bonus({"two-stage-block-reduction"}, "warp-shuffle-reduction"), 0.02);
  EXPECT_EQ(catalogue.bonus({"simplify-reduction"}, "cache-row"), 0.02);
  EXPECT_TRUE(catalogue.excludes("pad-shared-array", "swizzle-shared-array"));
  EXPECT_TRUE(catalogue.retunes({"unroll-loop"}, "tune-block-size"));
  EXPECT_FALSE(catalogue.retunes({"vectorize-loads"}, "tune-block-size"));
  // Tiling before tensor cores is the largest that the paper measured.
  EXPECT_GT(catalogue.bonus({"shared-memory-tiling"}, "tensor-core-mma"),
            catalogue.bonus({"swizzle-shared-array"}, "tensor-core-mma"));
  EXPECT_LT(catalogue.repeatDiscount("tune-block-size"), catalogue.repeatDiscount("unroll-loop"));
}

TEST(Catalogue, PipelinesByShape) {
  const Catalogue &catalogue = Catalogue::builtin();
  EXPECT_EQ(catalogue.shapes(),
            (std::vector<std::string>{"elementwise", "histogram", "launch-bound", "matmul",
                                      "reduction", "stencil"}));
  EXPECT_EQ(catalogue.pipeline("elementwise").front(), "fix-double-literals");
  EXPECT_TRUE(catalogue.pipeline("unheard-of").empty());
}

TEST(Catalogue, ErrorsNameFileAndEntry) {
  const std::string one =
      R"({"version":1,"optimizations":[{"name":"a","summary":"","form":"full","answers":[{"state":"s","removes":0.5}]}]})";
  const std::string noEdges = R"({"version":1,"edges":[],"repeats":[]})",
                    noPipelines = R"({"version":1,"pipelines":{}})";
  auto error = [](llvm::StringRef optimizations, llvm::StringRef edges, llvm::StringRef pipelines) {
    llvm::Expected<Catalogue> parsed = Catalogue::parse(optimizations, edges, pipelines);
    return parsed ? "none" : llvm::toString(parsed.takeError());
  };
  EXPECT_EQ(error(one, noEdges, noPipelines), "none");
  EXPECT_EQ(error(R"({"version":1,"optimizations":[{"name":"a"}]})", noEdges, noPipelines),
            "seed knowledge 'optimizations.json': optimizations[0]: field 'summary' is missing or "
            "no string");
  EXPECT_EQ(
      error(
          one,
          R"({"version":1,"edges":[{"kind":"enables","before":"a","after":"b","source":""}],"repeats":[]})",
          noPipelines),
      "seed knowledge 'edges.json': edges[0]: field 'bonus' must be a number from 0 to 1");
  EXPECT_EQ(
      error(
          one,
          R"({"version":1,"edges":[{"kind":"likes","before":"a","after":"a","source":""}],"repeats":[]})",
          noPipelines),
      "seed knowledge 'edges.json': edges[0]: unknown kind 'likes'");
  EXPECT_EQ(
      error(one, R"({"version":1,"edges":[],"repeats":[{"pass":"a","keeps":2}]})", noPipelines),
      "seed knowledge 'edges.json': repeats[0]: field 'keeps' must be a number from 0 to 1");
  EXPECT_EQ(error(one, noEdges, R"({"version":1,"pipelines":{"x":["b"]}})"),
            "seed knowledge 'pipelines.json': 'x': unknown optimization 'b'");
  EXPECT_EQ(error("[]", noEdges, noPipelines),
            "seed knowledge 'optimizations.json': field 'version' must be 1");
}
