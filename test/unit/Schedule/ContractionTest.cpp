//===- ContractionTest.cpp - Tiling with reuse -----------------------------===//
#include "Nests.h"

using namespace kbopt;

namespace {

struct Contraction : Nests {
  const Sketch &sketch = *findSketch("contraction");

  static std::string element(llvm::StringRef name, int argument, llvm::StringRef over,
                             llvm::StringRef at) {
    return ("<element <argument \"" + name + "\" argument " + llvm::Twine(argument) +
            "> : \"float\" bytes 4 at <over [" + over + "] with [M, N, K] : " + at + ">>")
        .str();
  }

  /// C[row, col] = after(init + sum over k of term), with A at \p a and B at \p b.
  static std::string product(llvm::StringRef a, llvm::StringRef b, llvm::StringRef term = "$0 * $1",
                             llvm::StringRef between = "", llvm::StringRef length = "K") {
    std::string space = "#kb.expr<over [row, col] with [M, N, K] : ";
    return program(
        R"(#kb.param<"M" : "int" bytes 4>, #kb.param<"N" : "int" bytes 4>, #kb.param<"K" : "int" bytes 4>,
          #kb.param<"A" : "const float *" bytes 8 pointer true element 4 const true>,
          #kb.param<"B" : "const float *" bytes 8 pointer true element 4 const true>,
          #kb.param<"C" : "float *" bytes 8 pointer true element 4>)",
        "kb.nest @k dims [\"row\", \"col\"] extents [" + space + "M>, " + space + "N>] symbols [" +
            R"(#kb.symbol<"M" param argument 0 signed true>, #kb.symbol<"N" param argument 1 signed true>,
          #kb.symbol<"K" param argument 2 signed true>] {
            kb.let "sum" : "float" "0.0f" [])" +
            "\nkb.over \"k\" reduction extent <over [row, col] with [M, N, K] : " + length.str() +
            "> {\n" + between.str() + "\nkb.reduce \"sum\" \"add\" \"%a + %b\" identity \"0\" \"" +
            term.str() + "\" [#kb.operand" + element("A", 3, "row, col, k", a) + ", #kb.operand" +
            element("B", 4, "row, col, k", b) + "]\n}\nkb.store " +
            element("C", 5, "row, col", "row * N + col") + " \"fmaxf(sum, 0.0f)\" []\n}");
  }

  static Schedule tile(int bm, int bn, int bk, int tm, int tn, int vector = 4) {
    return Schedule("contraction")
        .set("bm", bm)
        .set("bn", bn)
        .set("bk", bk)
        .set("tm", tm)
        .set("tn", tn)
        .set("stages", 2)
        .set("vector", vector);
  }

  std::string definition(const std::string &program, const Schedule &schedule) {
    auto kernel = sketch.print(parse(program, schedule), "fast", chip);
    EXPECT_TRUE(bool(kernel));
    return kernel ? kernel->definition : toString(kernel.takeError());
  }
};

TEST_F(Contraction, KeepsRowsTransposedAndCopiesTheUsersExpressions) {
  auto kernel = cantFail(sketch.print(
      parse(product("row * K + k", "k * N + col"), tile(128, 128, 8, 8, 8)), "fast", chip));
  const std::string &text = kernel.definition;
  for (llvm::StringRef part :
       {"__launch_bounds__(256, 2)\nfast(int M, int N, int K, const float *__restrict__ A, const "
        "float *__restrict__ "
        "B, float *__restrict__ C) {",
        "float ATile[2][BK][BM + 4];", "float BTile[2][BK][BN];",
        "const int row = min(row0 + ARow + chunk * AApart, M - 1);",
        "AFrom[chunk] = &A[(size_t)row * K + ATerm];", "BFrom = &B[(size_t)BTerm * N + col];",
        "reinterpret_cast<const float4 *>(AFrom[chunk]);", "if (BTerm + chunk * BApart < left)",
        "BFrom += BK * (size_t)N;", "sums[i][j] += ARegs[slot][i] * BRegs[slot][j];",
        "out[q] = fmaxf(sum, 0.0f);", "for (int step = 0; step < K - k0; ++step)"})
    EXPECT_NE(text.find(part), std::string::npos) << part.str() << "\n" << text;
  EXPECT_EQ(kernel.gridX, "(M + 127) / 128 * ((N + 127) / 128)");
  EXPECT_EQ(kernel.blockX, "256");
  EXPECT_FALSE(kernel.reassociates);
  auto has = [&](const LaunchCondition &condition) {
    return llvm::is_contained(kernel.conditions, condition);
  };
  EXPECT_TRUE(has({LaunchCondition::Expression, "K % 4 == 0", "", 0}));
  EXPECT_TRUE(has({LaunchCondition::Expression, "N % 4 == 0", "", 0}));
  EXPECT_TRUE(has({LaunchCondition::Aligned, "C", "", 16}));
  EXPECT_TRUE(has({LaunchCondition::Disjoint, "A", "C", 0}));
  EXPECT_TRUE(has({LaunchCondition::Expression, "M > 0", "", 0}));
}

TEST_F(Contraction, NeedsNeitherAlignmentNorMultiplesWithSingleElements) {
  auto kernel = cantFail(sketch.print(
      parse(product("row * K + k", "k * N + col"), tile(128, 128, 8, 8, 8, 1)), "fast", chip));
  EXPECT_EQ(kernel.definition.find("float4"), std::string::npos) << kernel.definition;
  for (const LaunchCondition &condition : kernel.conditions) {
    EXPECT_NE(condition.kind, LaunchCondition::Aligned);
    EXPECT_EQ(condition.text.find('%'), std::string::npos);
  }
}

TEST_F(Contraction, TransposesBothOperandsOfARowTimesRowProduct) {
  std::string text = definition(product("row * K + k", "col * K + k"), tile(64, 64, 16, 4, 4));
  EXPECT_NE(text.find("float BTile[2][BK][BN + 4];"), std::string::npos) << text;
  EXPECT_NE(text.find("BTile[stage][BTerm + step][BColumn + chunk * BApart] = BNext[chunk][step];"),
            std::string::npos)
      << text;
}

TEST_F(Contraction, TakesAnyTermBetweenTheTwoOperands) {
  std::string text =
      definition(product("k * M + row", "k * N + col", "fabsf($0 - $1)"), tile(64, 64, 16, 4, 4));
  EXPECT_NE(text.find("sums[i][j] += fabsf(ARegs[slot][i] - BRegs[slot][j]);"), std::string::npos)
      << text;
  EXPECT_NE(text.find("float ATile[2][BK][BM];"), std::string::npos) << text;
}

TEST_F(Contraction, CopiesTilesAheadPastTheRegisters) {
  auto kernel = cantFail(sketch.print(
      parse(product("row * K + k", "k * N + col"), tile(64, 128, 32, 8, 8).set("stages", 3)),
      "fast", chip));
  const std::string &text = kernel.definition;
  for (llvm::StringRef part :
       {"#include <cuda_pipeline_primitives.h>", "float (*)[STAGES][BM][BK + 4]>(fastMemory);",
        "__pipeline_memcpy_async(&ATile[stage][ARow + chunk * AApart][ATerm], AFrom[chunk], 16);",
        "sums[i][j] += ARegs[i][term] * BRegs[j];", "const int row = row0 + rowOfThread + i * 4;"})
    EXPECT_NE(text.find(part), std::string::npos) << part.str() << "\n" << text;
  EXPECT_EQ(kernel.dynamicSharedBytes, "76800");
  std::string single =
      definition(product("row * K + k", "k * N + col"), tile(32, 64, 16, 4, 4, 1).set("stages", 3));
  EXPECT_NE(
      single.find(
          "__pipeline_memcpy_async(&ATile[stage][ATerm][ARow + chunk * AApart], AFrom[chunk], 4);"),
      std::string::npos)
      << single;
}

TEST_F(Contraction, SplitsTheTermsOfATileAmongWarps) {
  std::string plain = product("row * K + k", "k * N + col");
  auto kernel = cantFail(sketch.print(
      parse(plain, tile(32, 32, 32, 4, 4).set("stages", 3).set("split", 4)), "fast", chip));
  for (llvm::StringRef part :
       {"THREADS = BM / TM * (BN / TN) * SPLIT;", "firstTerm = part * (BK / SPLIT);",
        "for (int step = 0; step < BK / SPLIT; step += 4)", "multiply(stage, firstTerm + step);",
        "step < min(BK / SPLIT, K - k0 - firstTerm)",
        "sumParts[part - 1][i][j][place] = sums[i][j];",
        "sums[i][j] += sumParts[other][i][j][place];"})
    EXPECT_NE(kernel.definition.find(part), std::string::npos) << part.str() << "\n"
                                                               << kernel.definition;
  EXPECT_EQ(kernel.blockX, "256");
  EXPECT_TRUE(kernel.reassociates);
  auto reason = [&](const std::string &program, const Schedule &schedule) {
    auto kernel = sketch.print(parse(program, schedule), "fast", chip);
    return kernel ? std::string() : toString(kernel.takeError());
  };
  EXPECT_EQ(reason(plain, tile(32, 32, 8, 4, 4).set("split", 4)),
            "8 terms do not make 4 parts of 4");
  EXPECT_EQ(reason(product("row * K + k", "k * N + col", "$0 * $1", "", "row + 1"),
                   tile(32, 32, 16, 4, 4).set("split", 2)),
            "the length of its sum differs between outputs");
  Freedom none;
  none.reassociate = false;
  for (const Schedule &each : sketch.schedules(parse(plain), chip, {}, none))
    EXPECT_EQ(each.integer("split"), 1);
}

TEST_F(Contraction, EndsSumsOfVaryingLengthExactly) {
  std::string program = product("row * K + k", "k * N + col", "$0 * $1", "", "row + 1");
  std::string text = definition(program, tile(64, 64, 16, 4, 4));
  for (llvm::StringRef part :
       {"const int kFull = row0 + 1;", "const int kLimit = min(row0 + BM, M);",
        "for (; kFull - k0 >= BK; k0 += BK, stage ^= 1) {", "step < min(BK, kLimit - k0)",
        "if (isEdge && k >= row + 1)"})
    EXPECT_NE(text.find(part), std::string::npos) << part.str() << "\n" << text;
}

TEST_F(Contraction, SkipsEmptyTilesOfATriangle) {
  std::string text = product("row * K + k", "k * N + col");
  size_t start = text.find("kb.let"), end = text.rfind("}\n}");
  std::string body = text.substr(start, end - start);
  std::string triangle =
      "kb.when \"\" [] where <over [row, col] with [M, N, K] : row - col >= 0 exact> {\n" + body +
      "}\n";
  std::string alone = text.substr(0, start) + triangle + text.substr(end);
  auto kernel = cantFail(sketch.print(parse(alone, tile(64, 64, 16, 4, 4)), "fast", chip));
  for (llvm::StringRef part :
       {"if (col0 > row0 + BM - 1)\n    return;", "if (row >= M || col >= N || col > row)"})
    EXPECT_NE(kernel.definition.find(part), std::string::npos) << part.str() << "\n"
                                                               << kernel.definition;
  // Column N - 1 has a point only if there is a row N - 1.
  EXPECT_TRUE(llvm::is_contained(
      kernel.conditions, LaunchCondition{LaunchCondition::Expression, "M - N >= 0", "", 0}));

  std::string above = "kb.when \"\" [] where <over [row, col] with [M, N, K] : col - row - 1 >= 0 "
                      "exact> {\nkb.store " +
                      element("C", 5, "row, col", "row * N + col") + " \"0.0f\" []\n}\n";
  std::string filled = definition(text.substr(0, start) + above + triangle + text.substr(end),
                                  tile(64, 64, 16, 4, 4));
  for (llvm::StringRef part :
       {"const int kLimit = col0 > row0 + BM - 1 ? 0 : K;", "if (col > row) {", "out[q] = 0.0f;"})
    EXPECT_NE(filled.find(part), std::string::npos) << part.str() << "\n" << filled;
}

TEST_F(Contraction, LeavesProductsOfHalvesToTheMatrixUnits) {
  auto halves = [](std::string text) {
    for (size_t at;
         (at = text.find("\"float\" bytes 4 at <over [row, col, k]")) != std::string::npos;)
      text.replace(at, 15, "\"half\" bytes 2");
    for (size_t at;
         (at = text.find("const float *\" bytes 8 pointer true element 4")) != std::string::npos;)
      text.replace(at, 45, "const half *\" bytes 8 pointer true element 2");
    return text;
  };
  Schedule schedule = tile(128, 128, 64, 64, 64).set("stages", 3).set("core", "half");
  std::string program =
      halves(product("row * K + k", "k * N + col", "__half2float($0) * (float)$1"));
  auto kernel = cantFail(sketch.print(parse(program, schedule), "fast", chip));
  for (llvm::StringRef part : {"half (*)[STAGES][BM][BK]>(fastMemory);",
                               "half (*)[STAGES][BK][BN]>(fastMemory + sizeof(ATile));",
                               "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                               "AFrom[chunk], 16, isWhole || ATerm < left ? 0 : 16);",
                               "const int turned = i % 2 ? TN / 8 - 1 - j : j;",
                               "fastMultiply(sums[i][turned], ARegs[slot][i], BRegs[slot][turned / "
                               "2][turned % 2 * 2], BRegs[slot][turned / 2][turned % 2 * 2 + 1]);"})
    EXPECT_NE(kernel.definition.find(part), std::string::npos) << part.str() << "\n"
                                                               << kernel.definition;
  EXPECT_TRUE(kernel.reassociates);
  EXPECT_FALSE(kernel.lowersPrecision);
  EXPECT_TRUE(llvm::is_contained(
      kernel.conditions, LaunchCondition{LaunchCondition::Expression, "K % 8 == 0", "", 0}));

  auto reason = [&](const std::string &program) {
    auto kernel = sketch.print(parse(program, schedule), "fast", chip);
    return kernel ? std::string() : toString(kernel.takeError());
  };
  EXPECT_EQ(reason(product("row * K + k", "k * N + col")),
            "A is not of a type that half matrix units multiply exactly");
  EXPECT_EQ(reason(halves(product("row * K + k", "k * N + col", "fabsf($0 - $1)"))),
            "'fabsf($0 - $1)' is not a product of two elements, which matrix units need");
  Freedom none;
  none.reassociate = false;
  for (const Schedule &each : sketch.schedules(parse(program), chip, {}, none))
    EXPECT_EQ(each.string("core"), "simt");
  EXPECT_EQ(sketch.schedules(parse(program), chip, {}, {}).front().string("core"), "half");
}

TEST_F(Contraction, SaysWhyNot) {
  EXPECT_EQ(sketch.whyNot(parse(product("row * K + k", "k * N + col"))), "");
  EXPECT_EQ(sketch.whyNot(parse(product("row * N + col", "k * N + col"))),
            "A varies with both row and col");
  EXPECT_EQ(sketch.whyNot(parse(product("k", "k * N + col"))),
            "no element is used for several row");
  EXPECT_EQ(sketch.whyNot(parse(product(
                "row * K + k", "k * N + col", "$0 * $1",
                "kb.store " + element("C", 5, "row, col, k", "row * N + col") + " \"0.0f\" []"))),
            "the loop over k does more than to sum");
}

TEST_F(Contraction, RefusesTilesThatDoNotFit) {
  auto reason = [&](const Schedule &schedule) {
    auto kernel =
        sketch.print(parse(product("row * K + k", "k * N + col"), schedule), "fast", chip);
    return kernel ? std::string() : toString(kernel.takeError());
  };
  EXPECT_EQ(reason(tile(128, 128, 8, 8, 5)),
            "a thread tile of 8 x 5 is not one of 4, 8 or 16 by 4, 8 or 16");
  EXPECT_EQ(reason(tile(48, 64, 8, 8, 8)),
            "a block tile of 48 x 64 is not a multiple of a warp's 32 x 64");
  EXPECT_EQ(reason(tile(64, 64, 8, 4, 4)),
            "128 loads of a tile are not shared evenly among 256 threads");
}

TEST_F(Contraction, PrefersTilesThatFillTheChip) {
  kb::NestOp nest = parse(product("row * K + k", "k * N + col"));
  auto first = [&](int64_t size) {
    LaunchSizes sizes;
    sizes["M"] = sizes["N"] = sizes["K"] = size;
    auto all = sketch.schedules(nest, chip, sizes, {});
    EXPECT_FALSE(all.empty());
    EXPECT_LE(all.size(), 24u);
    return all.front();
  };
  EXPECT_GE(first(4096).integer("bm"), 128);
  EXPECT_LE(first(512).integer("bm"), 64);
  EXPECT_EQ(first(4096).integer("vector"), 4);
  EXPECT_EQ(first(1033).integer("vector"), 1);
  EXPECT_EQ(first(4096).integer("split"), 1);
  EXPECT_GT(first(256).integer("split"), 1);
  EXPECT_EQ(sketch.schedules(nest, chip, {}, {}).front().integer("split"), 1);
}

/// Sizes that are not known: large tiles where there are enough blocks, small ones else, single
/// elements where sizes do not divide.
TEST_F(Contraction, ChoosesAmongTilesAtTheLaunch) {
  kb::NestOp nest = parse(product("row * K + k", "k * N + col"));
  Schedule large = sketch.schedules(nest, chip, {}, {}).front();
  EXPECT_EQ(large.integer("otherwise"), 1);
  auto few = sketch.otherwise(nest, chip, large);
  ASSERT_TRUE(few.has_value());
  EXPECT_LT(few->integer("bm") * few->integer("bn"), large.integer("bm") * large.integer("bn"));
  EXPECT_EQ(few->integer("vector"), 4);
  EXPECT_EQ(few->integer("split"), 1);
  auto single = sketch.otherwise(nest, chip, *few);
  ASSERT_TRUE(single.has_value());
  EXPECT_EQ(single->integer("vector"), 1);
  EXPECT_FALSE(sketch.otherwise(nest, chip, *single) &&
               sketch.otherwise(nest, chip, *single)->integer("otherwise"));

  auto printed = [&](Schedule schedule) {
    return cantFail(
        sketch.print(parse(product("row * K + k", "k * N + col"), schedule), "fast", chip));
  };
  GeneratedKernel first = printed(large);
  ASSERT_EQ(first.preferences.size(), 1u);
  llvm::StringRef preference = first.preferences[0];
  ASSERT_TRUE(preference.consume_front(first.gridX + " >= "));
  int64_t enough = 0;
  ASSERT_FALSE(preference.getAsInteger(10, enough));
  EXPECT_GT(enough, chip.smCount / 2);
  EXPECT_LT(enough, 3 * chip.smCount);
  EXPECT_TRUE(printed(*few).preferences.empty());
  EXPECT_TRUE(printed(large.set("otherwise", int64_t(0))).preferences.empty());

  LaunchSizes sizes;
  sizes["M"] = sizes["N"] = sizes["K"] = 512;
  EXPECT_EQ(sketch.schedules(parse(product("row * K + k", "k * N + col")), chip, sizes, {})
                .front()
                .integer("otherwise"),
            0);
}

TEST_F(Contraction, RoundsFloatsToTf32WhereThePromiseAllowsIt) {
  std::string plain = product("row * K + k", "k * N + col");
  Schedule schedule = tile(128, 128, 32, 64, 64).set("stages", 3).set("core", "tf32");
  auto kernel = cantFail(sketch.print(parse(plain, schedule), "fast", chip));
  for (llvm::StringRef part :
       {"float (*)[STAGES][BM][BK + 4]>(fastMemory);",
        "float (*)[STAGES][BK][BN + 8]>(fastMemory + sizeof(ATile));", "cvt.rna.tf32.f32 %0, %1;",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        "fastMultiply(sums[i][j], ARegs[slot][i], BRegs[slot][j]);"})
    EXPECT_NE(kernel.definition.find(part), std::string::npos) << part.str() << "\n"
                                                               << kernel.definition;
  EXPECT_TRUE(kernel.lowersPrecision);
  for (Freedom freedom : {Freedom{true, false}, Freedom{true, true}}) {
    bool some = false;
    for (const Schedule &each : sketch.schedules(parse(plain), chip, {}, freedom))
      some |= each.string("core") == "tf32";
    EXPECT_EQ(some, freedom.lowerPrecision);
  }
  auto reason = [&](const std::string &program, const Schedule &schedule) {
    auto kernel = sketch.print(parse(program, schedule), "fast", chip);
    return kernel ? std::string() : toString(kernel.takeError());
  };
  EXPECT_EQ(reason(product("row * K + k", "k * N + col", "$0 * $1", "", "col + 1"), schedule),
            "the length of its sum differs between outputs");
  EXPECT_EQ(reason(product("row * K + k", "k * N + col", "fabsf($0 - $1)"), schedule),
            "'fabsf($0 - $1)' is not a product of two elements, which matrix units need");
  EXPECT_EQ(reason(plain, tile(128, 128, 64, 64, 64).set("stages", 3).set("core", "tf32")),
            "tf32 matrix units need tiles of multiples of 64 x 64 x 32, 16 bytes per access and 3 "
            "or 4 stages");
  EXPECT_EQ(reason(plain, tile(128, 128, 32, 64, 64).set("stages", 3).set("core", "int8")),
            "A is not of a type that int8 matrix units multiply exactly");
}

/// Reasons for schedules that a chip does not have room for, or that it lacks an instruction for.
TEST_F(Contraction, SaysWhatAChipLacks) {
  std::string plain = product("row * K + k", "k * N + col");
  auto reason = [&](const Schedule &schedule) {
    auto kernel = sketch.print(parse(plain, schedule), "fast", chip);
    return kernel ? std::string() : toString(kernel.takeError());
  };
  EXPECT_EQ(reason(tile(256, 256, 32, 8, 8).set("stages", 4)),
            "a block needs 278528 bytes of shared memory");
  EXPECT_EQ(reason(tile(256, 256, 8, 16, 16)), "a thread needs about 362 registers");
  chip.computeMajor = 7;
  EXPECT_EQ(reason(tile(64, 128, 32, 8, 8).set("stages", 3)), chip.arch() + " has no cp.async");
  EXPECT_EQ(reason(tile(128, 128, 32, 64, 64).set("stages", 3).set("core", "tf32")),
            chip.arch() + " has no cp.async");
  for (const Schedule &each : sketch.schedules(parse(plain), chip, {}, {true, true}))
    EXPECT_EQ(each.integer("stages"), 2);
}

} // namespace
