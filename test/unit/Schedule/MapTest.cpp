//===- MapTest.cpp - Threads over independent points -----------------------===//
#include "Nests.h"
#include "kb-opt/Schedule/NestFigures.h"

using namespace kbopt;

namespace {

struct Map : Nests {
  static std::string element(llvm::StringRef base, int argument, llvm::StringRef loops,
                             llvm::StringRef at) {
    return ("<element <argument \"" + base + "\" argument " + llvm::Twine(argument) +
            "> : \"float\" bytes 4 at <over [" + loops + "] with [n] : " + at + ">>")
        .str();
  }
  static constexpr llvm::StringLiteral params =
      R"(#kb.param<"out" : "float *" bytes 8 pointer true element 4>,
    #kb.param<"a" : "float *" bytes 8 pointer true element 4>, #kb.param<"n" : "int" bytes 4>)";

  /// out[at] = 2 * a[from] for i < n.
  kb::NestOp line(const Schedule &schedule, llvm::StringRef at = "i", llvm::StringRef from = "i",
                  const std::string &requirement = "") {
    return parse(
        program(
            params,
            (R"(kb.nest @k dims ["i"] extents [#kb.expr<over [i] with [n] : n>] symbols [#kb.symbol<"n" param argument 2>] )" +
             requirement + R"( {
        kb.store )" +
             element("out", 0, "i", at) + " \"2 * $0\" [#kb.operand" + element("a", 1, "i", from) +
             "]\n}")),
        schedule);
  }
  /// The same over two dimensions; transposed where \p at is "j * n + i".
  kb::NestOp plane(const Schedule &schedule, llvm::StringRef at) {
    return parse(
        program(
            params,
            R"(kb.nest @k dims ["i"] extents [#kb.expr<over [i] with [n] : n>] symbols [#kb.symbol<"n" param argument 2>] {
        kb.over "j" any extent <over [i] with [n] : n> {
          kb.store )" +
                element("out", 0, "i, j", at) + " \"$0\" [#kb.operand" +
                element("a", 1, "i, j", at) + "]\n}\n}"),
        schedule);
  }
  GeneratedKernel print(kb::NestOp nest) {
    auto kernel = findSketch("map")->print(nest, "fast", chip);
    if (kernel)
      return *kernel;
    ADD_FAILURE() << llvm::toString(kernel.takeError());
    return {};
  }
};

Schedule map(int64_t vector, int64_t inflight) {
  Schedule schedule("map");
  return schedule.set("vector", vector).set("inflight", inflight);
}

TEST_F(Map, TriesSquareBlocksWhereLanesReadFarApart) {
  auto squares = [&](llvm::StringRef from) {
    kb::NestOp nest = parse(
        program(params, R"(kb.nest @k dims ["i", "j"] extents [#kb.expr<over [i, j] with [n] : n>,
        #kb.expr<over [i, j] with [n] : n>] symbols [#kb.symbol<"n" param argument 2>] {
        kb.store )" + element("out", 0, "i, j", "j + i * n") +
                            " \"$0\" [#kb.operand" + element("a", 1, "i, j", from) + "]\n}"),
        {});
    return llvm::count_if(findSketch("map")->schedules(nest, chip, {}, {}),
                          [](const Schedule &each) { return each.integer("rows") >= 16; });
  };
  EXPECT_EQ(squares("j + i * n"), 0);
  EXPECT_EQ(squares("i + j * n"), 2);
}

TEST_F(Map, MovesVectors) {
  GeneratedKernel kernel = print(line(map(4, 1)));
  EXPECT_EQ(kernel.definition,
            R"(// Lanes run along 'i', so that they read and write neighbouring elements, 4
// at a time.
__global__ void __launch_bounds__(256) fast(float *out, const float *a, int n) {
  constexpr int threads = 256, width = 4;
  const int whole = n - n % width;
  if (blockIdx.x == 0 && threadIdx.x < n % width) {
    const int i = whole + threadIdx.x;
    out[i] = 2 * a[i];
  }
  const int first = (blockIdx.x * threads + threadIdx.x) * width;
  if (first >= whole)
    return;
  alignas(16) float as[width];
  *reinterpret_cast<float4 *>(as) = *reinterpret_cast<const float4 *>(&a[first]);
  alignas(16) float outs[width];
#pragma unroll
  for (int e = 0; e < width; ++e)
    outs[e] = 2 * as[e];
  *reinterpret_cast<float4 *>(&out[first]) = *reinterpret_cast<const float4 *>(outs);
}
)");
  EXPECT_EQ(kernel.gridX, "(n + 1023) / 1024");
  EXPECT_EQ(kernel.conditions.size(), 3u);
  EXPECT_FALSE(kernel.reassociates);
}

TEST_F(Map, LoadsBeforeItStoresWithSeveralInFlight) {
  GeneratedKernel kernel = print(line(map(1, 4)));
  llvm::StringRef text = kernel.definition;
  EXPECT_LT(text.find("as[k] = a[i];"), text.find("out[i] = 2 * as[k];")) << text.str();
  EXPECT_NE(text.find("out[i] = 2 * as[k];"), llvm::StringRef::npos) << text.str();
}

TEST_F(Map, AllowsOneArrayForBothOnlyWhereAPointUsesOneElement) {
  auto apart = [](const GeneratedKernel &kernel) {
    return llvm::any_of(kernel.conditions, [](const LaunchCondition &each) {
      return each.kind == LaunchCondition::Disjoint;
    });
  };
  EXPECT_FALSE(apart(print(line(map(1, 1)))));
  EXPECT_TRUE(apart(print(line(map(1, 1), "i", "n - i - 1"))));
  // A thread a point: where two points share memory, the given kernel has a race.
  std::string covers = "requires [#kb.expr<over [i] with [n] : gdim.x * bdim.x - n>]";
  EXPECT_FALSE(apart(print(line(map(1, 1), "i", "n - i - 1", covers))));
  std::string fits = "requires [#kb.expr<over [i] with [n] : n - gdim.x * bdim.x>]";
  EXPECT_TRUE(apart(print(line(map(1, 1), "i", "n - i - 1", fits))));
}

TEST_F(Map, MovesOneElementWhereNeighboursAreNotNeighboursInMemory) {
  EXPECT_FALSE(
      llvm::StringRef(print(line(map(4, 1), "i * 2", "i * 2 + 1")).definition).contains("float4"));
}

TEST_F(Map, TakesInnerParallelDimensionsIntoTheGrid) {
  llvm::StringRef text;
  GeneratedKernel kernel = print(plane(map(4, 1), "i * n + j"));
  text = kernel.definition;
  EXPECT_TRUE(text.contains("const int first = point % n;\n  const int i = point / n;"))
      << text.str();
  EXPECT_EQ(kernel.gridX, "(n * n + 1023) / 1024");
}

TEST_F(Map, GivesTheGridAnAxisForEachDimension) {
  Schedule schedule = map(4, 1);
  GeneratedKernel kernel = print(plane(schedule.set("rows", 4), "i * n + j"));
  llvm::StringRef text = kernel.definition;
  EXPECT_TRUE(text.contains("constexpr int lanes = 64, rows = 4, width = 4;")) << text.str();
  EXPECT_TRUE(text.contains("const int i = blockIdx.y * rows + threadIdx.y;")) << text.str();
  EXPECT_TRUE(text.contains("if (first >= n || i >= n)\n    return;")) << text.str();
  EXPECT_EQ(kernel.gridX, "(n + 255) / 256");
  EXPECT_EQ(kernel.gridY, "(n + 3) / 4");
  EXPECT_EQ(kernel.blockY, "4");
}

TEST_F(Map, ComputesScalarsOfAVectorOnce) {
  auto nest = parse(
      program(
          R"(#kb.param<"out" : "float *" bytes 8 pointer true element 4>,
        #kb.param<"a" : "float *" bytes 8 pointer true element 4>, #kb.param<"n" : "int" bytes 4>,
        #kb.param<"rows" : "int *" bytes 8 pointer true element 4>)",
          R"(kb.nest @k dims ["i", "j"] extents [#kb.expr<over [i, j] with [n] : n>, #kb.expr<over [i, j] with [n] : n>]
          symbols [#kb.symbol<"n" param argument 2>, #kb.symbol<"row" varying>] {
        kb.let "row" : "int" "$0" [#kb.operand<element <argument "rows" argument 3> : "int" bytes 4 at <over [i, j] : i>>]
        kb.let "own" : "int" "$0" [#kb.operand<element <argument "rows" argument 3> : "int" bytes 4 at <over [i, j] : j>>]
        kb.store <element <argument "out" argument 0> : "float" bytes 4 at <over [i, j] with [n] : i * n + j>> "own * $0"
          [#kb.operand<element <argument "a" argument 1> : "float" bytes 4 at <over [i, j] with [n, row] : row * n + j>>]
      })"),
      map(4, 1));
  llvm::StringRef text;
  GeneratedKernel kernel = print(nest);
  text = kernel.definition;
  EXPECT_LT(text.find("int row = rows[i];"), text.find("reinterpret_cast<const float4 *>(&a["))
      << text.str();
  EXPECT_EQ(text.count("rows[i]"), 1u) << text.str();
  EXPECT_GT(text.find("int own = "), text.find("for (int e = 0")) << text.str();
  unsigned multiples = llvm::count_if(kernel.conditions, [](const LaunchCondition &each) {
    return llvm::StringRef(each.text).contains('%');
  });
  EXPECT_EQ(multiples, 1u);
}

TEST_F(Map, CountsInIntOnlyWhatFits) {
  auto wide = parse(
      program(
          R"(#kb.param<"out" : "float *" bytes 8 pointer true element 4>, #kb.param<"n" : "size_t" bytes 8>)",
          R"(kb.nest @k dims ["i"] extents [#kb.expr<over [i] with [n] : n>] symbols [#kb.symbol<"n" param argument 1 bits 64 signed false>] {
        kb.store <element <argument "out" argument 0> : "float" bytes 4 at <over [i] with [n] : i>> "1.0f" [] })"),
      map(1, 1));
  auto fits = [](const GeneratedKernel &kernel) {
    return llvm::any_of(kernel.conditions,
                        [](const LaunchCondition &each) { return each.text == "n <= 0x7fffffff"; });
  };
  EXPECT_TRUE(fits(print(wide)));
  EXPECT_FALSE(fits(print(line(map(1, 1)))));
}

TEST_F(Map, RunsLanesAlongTheDimensionOfNeighbours) {
  GeneratedKernel kernel = print(plane(map(1, 1), "j * n + i"));
  llvm::StringRef text = kernel.definition;
  EXPECT_TRUE(text.contains("const int i = blockIdx.x * threads + threadIdx.x;")) << text.str();
  EXPECT_TRUE(text.contains("for (int j = 0; j < n; ++j)")) << text.str();
}

TEST_F(Map, RefusesADimensionThatIsNotOne) {
  Schedule schedule = map(1, 1);
  schedule.set("lanes", "q");
  auto kernel = findSketch("map")->print(line(schedule), "fast", chip);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(llvm::toString(kernel.takeError()),
            "'q' is not a dimension whose iterations are independent");
}

TEST_F(Map, ListsTheWidestAccessFirst) {
  LaunchSizes sizes;
  EXPECT_EQ(findSketch("map")->schedules(line({}), chip, sizes, {}).front().integer("vector"), 4);
  sizes["n"] = 1001; // of a line, the last points are computed one by one
  EXPECT_EQ(findSketch("map")->schedules(line({}), chip, sizes, {}).front().integer("vector"), 4);
}

} // namespace

TEST_F(Map, FiguresTellNestsApartBySizeAndByKind) {
  kb::NestOp nest = line({});
  EXPECT_TRUE(nestFigures(nest, {}).empty()) << "sizes are unknown";
  LaunchSizes sizes;
  sizes["n"] = 1023;
  std::map<std::string, double> figures = nestFigures(nest, sizes);
  EXPECT_EQ(figures["points"], 10);
  EXPECT_EQ(figures["row"], 10);
  EXPECT_EQ(figures["terms"], 1) << "one of them";
  EXPECT_EQ(figures["dims"], 1);
  EXPECT_EQ(figures["loads"], 1);
  EXPECT_EQ(figures["stores"], 1);
  EXPECT_EQ(figures["fits-map"], 1);
  EXPECT_EQ(figures.count("fits-contraction"), 0u);
  sizes["n"] = 2047;
  EXPECT_EQ(nestFigures(nest, sizes)["points"], 11);
}
