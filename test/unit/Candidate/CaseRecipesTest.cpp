//===- CaseRecipesTest.cpp - The ways a workload is exercised -------------===//
#include "kb-opt/Candidate/CaseRecipes.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

constexpr const char yaml[] = R"yaml(kernel: scale
sizes: {n: 1000}
parameters:
  - {name: x, type: f32, shape: n, role: in}
  - {name: out, type: f32, shape: n, role: out}
  - {name: n, value: n}
grid: ceildiv(n, 128)
block: 128
)yaml";

CaseRecipes recipesOfKernel() {
  return CaseRecipes(llvm::cantFail(parseWorkload(yaml, "w.yaml")),
                     {"scale",
                      true,
                      "void",
                      {{"x", "const float *"}, {"out", "float *"}, {"n", "int"}},
                      "k.cu:1:1"});
}

void expectUniqueNames(const CaseRecipes &recipes) {
  std::set<std::string> names;
  for (const CaseRecipe &each : recipes.all()) {
    EXPECT_TRUE(names.insert(each.test.name).second) << each.test.name;
    EXPECT_EQ(recipes.find(each.test.name), &each);
  }
  EXPECT_FALSE(recipes.find("no such case"));
}

TEST(CaseRecipes, OfAProgramVaryWhatItUploads) {
  CaseRecipes recipes(Workload(), Signature{});
  expectUniqueNames(recipes);
  EXPECT_TRUE(recipes.recorded().test.recorded);
  for (const CaseRecipe &each : recipes.all().drop_front()) {
    EXPECT_FALSE(each.test.recorded) << each.test.name;
    EXPECT_EQ(each.test.variesRecorded + each.test.feedsOtherResults + each.test.hasOtherSources, 1)
        << each.test.name;
    EXPECT_FALSE(each.run.has_value()) << "no driver is generated";
  }
}

TEST(CaseRecipes, OfAProgramVaryItsNumericArguments) {
  Workload workload;
  workload.arguments = {"1000", "--check", "1.5"};
  CaseRecipes recipes(workload, Signature{});
  expectUniqueNames(recipes);
  std::set<std::string> run, called;
  for (const CaseRecipe &each : recipes.all())
    if (each.arguments)
      (each.isDry ? called : run).insert(llvm::join(*each.arguments, " "));
  EXPECT_EQ(run,
            (std::set<std::string>{"743 --check 1.125000", "743 --check 1.5", "1001 --check 1.5",
                                   "3 --check 1.5", "1 --check 1.5", "0 --check 1.5",
                                   "16001 --check 1.5", "1000 --check 1.125000"}));
  EXPECT_EQ(called, (std::set<std::string>{"16000 --check 1.5", "4096000 --check 1.5"}));
}

TEST(CaseRecipes, OfAProgramVaryWhatItTakesForArguments) {
  Workload workload;
  workload.defaultArguments = {{"96", false}, {"0", true}, {"0", false}};
  CaseRecipes recipes(workload, Signature{});
  expectUniqueNames(recipes);
  EXPECT_FALSE(recipes.recorded().arguments) << "it is run without any";
  for (const char *arguments : {"71 1 1", "97 0 0", "96 4294967311 0", "96 0 1", "1537 0 0"})
    EXPECT_TRUE(recipes.find(std::string("arguments ") + arguments)) << arguments;
  EXPECT_FALSE(recipes.find("arguments 96 0 4294967311"));
  EXPECT_FALSE(recipes.find("arguments 96 0 0"));
  const CaseRecipe *filled = recipes.find("arguments 1537 0 0 all-equal");
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->variedCase, "arguments 1537 0 0");
  EXPECT_TRUE(filled->test.variesOther && filled->test.asksMore && !filled->test.hasOtherSources);
}

TEST(CaseRecipes, OfAFunctionGrowUntilADeviceIsFull) {
  constexpr const char entry[] = R"yaml(entry: run
sizes: {rows: 10, columns: 1000}
parameters:
  - {name: x, type: f32, shape: [rows, columns], role: in}
  - {name: rows, value: rows}
  - {name: columns, value: columns}
)yaml";
  CaseRecipes recipes(llvm::cantFail(parseWorkload(entry, "w.yaml")),
                      {"run",
                       false,
                       "void",
                       {{"x", "const float *"}, {"rows", "int"}, {"columns", "int"}},
                       "k.cu:1:1"});
  expectUniqueNames(recipes);
  std::map<std::string, SizeMap> large;
  for (const CaseRecipe &each : recipes.all())
    if (each.isDry)
      large[each.test.name] = each.sizes;
  EXPECT_TRUE(large.count("columns=16000 rows=160, launches alone"));
  // As many rows of 1000 as an int counts the elements of.
  EXPECT_TRUE(large.count("columns=1000 rows=2147456, launches alone"));
  EXPECT_EQ(large.size(), 5u);
  for (const auto &[name, sizes] : large)
    EXPECT_LE(sizes.at("rows") * sizes.at("columns"), INT32_MAX) << name;
}

TEST(CaseRecipes, OfAKernelVaryCallsAndLayouts) {
  CaseRecipes recipes = recipesOfKernel();
  expectUniqueNames(recipes);
  EXPECT_TRUE(recipes.find("called three times"));
  for (const char *size : {"n=1001", "n=5"})
    EXPECT_TRUE(recipes.find(size)) << size;
  const CaseRecipe *misaligned = recipes.find("misaligned buffers");
  ASSERT_TRUE(misaligned);
  EXPECT_EQ(misaligned->layout, BufferLayout::Misaligned);
  EXPECT_EQ(misaligned->test.breaks, Assumption::Aligned);
}

TEST(CaseRecipes, AroundACandidatesConstantsAreDataAndSizes) {
  const ProgramConstants constants = {{0.37}, {3, 100}};
  std::set<std::string> names;
  std::set<int64_t> sizes;
  size_t runs = 0;
  for (const CaseRecipe &each : recipesOfKernel().around(constants)) {
    EXPECT_TRUE(names.insert(each.test.name).second) << each.test.name;
    EXPECT_TRUE(each.test.asksMore);
    if (each.distribution)
      EXPECT_EQ(each.constants.integers, constants.integers);
    else
      sizes.insert(each.sizes.at("n"));
    if (each.run)
      EXPECT_EQ(*each.run, runs++) << "they are numbered among themselves";
  }
  EXPECT_EQ(runs, sizes.size());
  EXPECT_EQ(sizes, (std::set<int64_t>{1002, 1003, 1099, 1100, 1101})) << "1001 is a case anyway";
  for (const CaseRecipe &each : CaseRecipes(Workload(), Signature{}).around(constants))
    EXPECT_TRUE(each.distribution) << "a program has no sizes";
}

TEST(CaseRecipes, ACandidatesLimitIsExceededWhereAllElseIsSmall) {
  const CaseRecipes recipes(
      llvm::cantFail(parseWorkload(R"~(
entry: count
sizes: {n: 1000000, bins: 48}
test-sizes: [{n: 1, bins: 1}, {n: 300, bins: 5}]
parameters:
  - {name: bin, type: i32, shape: n, role: in, init: "range(0, bins)"}
  - {name: counts, type: i32, shape: bins, role: inout}
  - {name: n, value: n}
  - {name: bins, value: bins}
)~",
                                   "w.yaml")),
      {"count",
       false,
       "void",
       {{"bin", "const int *"}, {"counts", "int *"}, {"n", "int"}, {"bins", "int"}},
       "k.cu:1:1"});
  std::set<std::string> beyond;
  for (const CaseRecipe &each : recipes.around({{}, {16, 512, 1024}}))
    if (!each.distribution && each.sizes.at("n") == 300) {
      beyond.insert(each.test.name);
      EXPECT_TRUE(each.test.asksMore);
      EXPECT_EQ(each.test.timesRecorded, 1u) << "it is small";
    }
  // The given 48 bins are beyond a limit of 16 already.
  EXPECT_EQ(beyond, (std::set<std::string>{"bins=1025 n=300 for 16, 512, 1024",
                                           "bins=2049 n=300 for 16, 512, 1024"}));
}

TEST(CaseRecipes, KeepToSizesThatCallersPass) {
  CaseRecipes recipes(
      llvm::cantFail(parseWorkload(
          std::string(yaml) + "admissible: {n: {multiple: 8, minimum: 16}}\n", "w.yaml")),
      {"scale",
       true,
       "void",
       {{"x", "const float *"}, {"out", "float *"}, {"n", "int"}},
       "k.cu:1:1"});
  expectUniqueNames(recipes);
  for (const CaseRecipe &each : recipes.all()) {
    for (const auto &[name, size] : each.sizes)
      EXPECT_TRUE(size % 8 == 0 && size >= 16) << each.test.name;
    for (const DriverCall &call : each.calls)
      EXPECT_EQ(call.sizes.at("n") % 8, 0) << each.test.name;
  }
  for (const char *size : {"n=736", "n=1008", "n=2000", "n=16"})
    EXPECT_TRUE(recipes.find(size)) << size;
  EXPECT_EQ(recipes.reliedOn(),
            std::vector<std::string>{
                "size 'n' is a multiple of 8 and at least 16: the workload says so"});
}

TEST(CaseRecipes, SayWhichStatementLeavesACaseOut) {
  CaseRecipes recipes = recipesOfKernel();
  EXPECT_EQ(
      recipes.remedy("n=5"),
      "size 'n' is 5 there, which is no multiple of 4; if callers only pass multiples of 4, "
      "state 'admissible: {n: {multiple: 4}}' in the workload, or 'minimum: 6' if they pass none "
      "so small");
  EXPECT_TRUE(llvm::StringRef(recipes.remedy("misaligned buffers")).contains("alignment: 16"));
  EXPECT_EQ(recipes.remedy("recorded"), "");
  EXPECT_EQ(recipes.remedy("no such case"), "");
  std::string odd = yaml;
  odd.replace(odd.find("1000"), 4, "999");
  CaseRecipes recipesOfOdd(llvm::cantFail(parseWorkload(odd, "w.yaml")),
                           {"scale",
                            true,
                            "void",
                            {{"x", "const float *"}, {"out", "float *"}, {"n", "int"}},
                            "k.cu:1:1"});
  EXPECT_EQ(recipesOfOdd.remedy("n=5"),
            "size 'n' is 5 there; if callers pass none so small, state 'admissible: {n: {minimum: "
            "6}}' in the workload");
}

TEST(CaseRecipes, RunsOfTheDriverAreNumberedInOrder) {
  CaseRecipes recipes = recipesOfKernel();
  size_t next = 0;
  for (const CaseRecipe &each : recipes.all())
    if (each.test.feedsOtherResults)
      EXPECT_EQ(each.run, recipes.recorded().run) << "it is the same run of the host";
    else if (each.run)
      EXPECT_EQ(*each.run, next++) << each.test.name;
    else
      EXPECT_TRUE(each.distribution.has_value()) << each.test.name;
  EXPECT_GT(next, 0u);
  const std::vector<DriverRun> runs = CaseRecipes::runsOf(recipes.all());
  ASSERT_EQ(runs.size(), next);
  for (const CaseRecipe &each : recipes.all())
    if (each.run)
      EXPECT_EQ(runs[*each.run].calls.front().sizes, each.driverRun().calls.front().sizes)
          << each.test.name;
}

} // namespace
