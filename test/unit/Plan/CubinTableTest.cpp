//===- CubinTableTest.cpp - What a cubin says of itself ---------------------===//
#include "../SourceDir.h"
#include "FakeCubin.h"
#include "kb-opt/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace kbopt;
using namespace kbrt;

namespace {

CubinTable example() {
  return {{{"_Z5scalePfif", {8, 4, 4}, 24, 400, 128},
           {"_Z2stPi", {8}, 8, 0, 0},
           {"_ZN35_GLOBAL__N__583c18fa_4_t_cu_counter2anEPi", {}, 10, 0, 0}},
          {{"table", 32, true, false}, {"hidden", 16, false, false}, {"all", 4, false, true}}};
}

TEST(CubinTable, HoldsKernelsAndVariables) {
  std::string error, bytes = makeCubin(example());
  ASSERT_TRUE(isCubin(bytes));
  auto table = readCubin(bytes, error);
  ASSERT_TRUE(table) << error;
  ASSERT_EQ(table->kernels.size(), 3u);
  const CubinKernel &scale = table->kernels[0];
  EXPECT_EQ(scale.name, "_Z5scalePfif");
  EXPECT_EQ(scale.parameterBytes, (std::vector<uint32_t>{8, 4, 4}));
  EXPECT_EQ(scale.registers, 24u);
  EXPECT_EQ(scale.sharedBytes, 400u);
  EXPECT_EQ(scale.maxThreads, 128u);
  EXPECT_EQ(table->kernels[1].registers, 8u);
  EXPECT_TRUE(table->kernels[2].parameterBytes.empty());
  ASSERT_EQ(table->variables.size(), 3u);
  EXPECT_TRUE(table->variables[0].isConstant);
  EXPECT_EQ(table->variables[0].bytes, 32u);
  EXPECT_FALSE(table->variables[1].isConstant);
  EXPECT_TRUE(table->variables[2].isManaged);
}

TEST(CubinTable, IsReadFromWhatNvccMakes) {
  std::string error;
  auto bytes = realFileSystem().read(sourcePath("test/unit/Plan/Inputs/names.cubin"));
  ASSERT_TRUE(static_cast<bool>(bytes));
  auto table = readCubin(*bytes, error);
  ASSERT_TRUE(table) << error;
  EXPECT_EQ(table->kernels.size(), 4u);
  const CubinKernel *mix = table->findKernel("_Z3mixPKff4Viewc");
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->parameterBytes, (std::vector<uint32_t>{8, 4, 16, 1}));
  EXPECT_EQ(mix->maxThreads, 128u);
  EXPECT_EQ(mix->sharedBytes, 400u);
  EXPECT_GT(mix->registers, 7u);
  EXPECT_LT(mix->registers, 64u);
  for (const char *name : {"plain", "_ZL8internalPi", "_ZN12_GLOBAL__N_17unnamedEPi"})
    EXPECT_TRUE(table->findKernel(name)) << name;
  const CubinVariable *constants = table->findVariable("table");
  const CubinVariable *hidden = table->findVariable("_ZL6hidden");
  ASSERT_TRUE(constants && hidden && table->findVariable("counter"));
  EXPECT_TRUE(constants->isConstant);
  EXPECT_EQ(hidden->bytes, 16u);
  EXPECT_TRUE(table->findVariable("shared")->isManaged);
}

TEST(CubinTable, FindsWhatClangNamesOtherwise) {
  CubinTable table = example();
  EXPECT_EQ(table.findKernel("_ZL2stPi"), &table.kernels[1]);
  EXPECT_EQ(table.findKernel("_ZN12_GLOBAL__N_12anEPi"), &table.kernels[2]);
  EXPECT_EQ(table.findVariable("_ZL6hidden"), &table.variables[1]);
  EXPECT_EQ(table.findKernel("_Z3absPi"), nullptr);
  table.kernels.push_back(table.kernels[2]);
  table.kernels.back().name = "_ZN21_GLOBAL__N__00000000_2anEPi";
  EXPECT_EQ(table.findKernel("_ZN12_GLOBAL__N_12anEPi"), nullptr) << "it may be either";
}

TEST(CubinTable, NamesKeepEverythingButLinkage) {
  EXPECT_EQ(linkageFreeName("_ZL6hidden"), "hidden");
  EXPECT_EQ(linkageFreeName("_ZN2nsL6hiddenE"), "_ZN2ns6hiddenE");
  EXPECT_EQ(linkageFreeName("_Z1eILi5EEvPf"), "_Z1eILi5EEvPf");
  EXPECT_EQ(linkageFreeName("plain"), "plain");
  EXPECT_EQ(linkageFreeName("_Z"), "_Z");
  EXPECT_EQ(linkageFreeName("_Z99x"), "_Z99x");
}

TEST(CubinTable, RefusesWhatIsNone) {
  std::string error, bytes = makeCubin(example());
  EXPECT_FALSE(isCubin(".version 9.0"));
  EXPECT_FALSE(readCubin("", error));
  EXPECT_EQ(error, "is no cubin");
  for (size_t length : {size_t(64), bytes.size() / 2, bytes.size() - 1}) {
    EXPECT_FALSE(readCubin(bytes.substr(0, length), error)) << length;
    EXPECT_EQ(error, "is a cubin that ends too early");
  }
}

} // namespace
