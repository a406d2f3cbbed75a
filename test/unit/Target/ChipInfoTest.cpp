//===- ChipInfoTest.cpp - Device files and their errors -------------------===//
#include "kb-opt/Target/ChipInfo.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Target/Builtin.h"
#include "gtest/gtest.h"

using namespace kbopt;

static ChipInfo chipOrDie(llvm::StringRef name) {
  llvm::Expected<ChipInfo> chip = loadChip(name);
  if (!chip) {
    ADD_FAILURE() << llvm::toString(chip.takeError());
    return {};
  }
  return *chip;
}

static std::string errorOf(llvm::Expected<ChipInfo> chip) {
  return chip ? "no error" : llvm::toString(chip.takeError());
}

TEST(ChipInfo, EveryBuiltinDeviceLoads) {
  EXPECT_EQ(builtinChips(),
            (std::vector<std::string>{"a100", "a6000", "b200", "h100", "h200", "l40s"}));
  for (const std::string &name : builtinChips()) {
    ChipInfo chip = chipOrDie(name);
    EXPECT_EQ(chip.name, name);
    EXPECT_GE(chip.sources.size(), 40u);
  }
}

// Peak rates that the figures must reproduce, from the datasheets (TFLOPS and
// TFLOPS dense fp16 tensor), to 3 %.
TEST(ChipInfo, FiguresReproduceTheDatasheets) {
  struct Row {
    const char *name;
    double fp32, fp64, tensor;
  };
  for (Row row : {Row{"h200", 67, 34, 1070}, Row{"h100", 67, 34, 1070}, Row{"a100", 19.5, 9.7, 312},
                  Row{"l40s", 91.6, 1.43, 366}, Row{"a6000", 38.7, 0.605, 154.8}}) {
    ChipInfo chip = chipOrDie(row.name);
    auto tflops = [&](double perClock) { return 2 * chip.rate(perClock) / 1e12; };
    EXPECT_NEAR(tflops(chip.fp32PerClock), row.fp32, 0.03 * row.fp32) << row.name;
    EXPECT_NEAR(tflops(chip.fp64PerClock), row.fp64, 0.03 * row.fp64) << row.name;
    EXPECT_NEAR(tflops(chip.tensorFp16PerClock), row.tensor, 0.03 * row.tensor) << row.name;
  }
}

TEST(ChipInfo, ArchAndWarps) {
  EXPECT_EQ(chipOrDie("H200").arch(), "sm_90");
  EXPECT_EQ(chipOrDie("b200").arch(), "sm_100");
  EXPECT_EQ(chipOrDie("a6000").maxWarpsPerSm(), 48u);
}

TEST(ChipInfo, EstimatesAreMarked) {
  ChipInfo chip = chipOrDie("h200");
  EXPECT_FALSE(chip.sources.at("dramBytesPerSecond").estimate);
  EXPECT_TRUE(chip.sources.at("baseMHz").estimate);
}

TEST(ChipInfo, UnknownNameListsTheKnownOnes) {
  llvm::Expected<ChipInfo> chip = loadChip("h300");
  ASSERT_FALSE(bool(chip));
  llvm::handleAllErrors(chip.takeError(), [](const UsageError &error) {
    EXPECT_EQ(error.message, "unknown chip 'h300'");
    EXPECT_EQ(error.note, "known chips: a100, a6000, b200, h100, h200, l40s");
  });
  EXPECT_EQ(errorOf(loadChip("../devices/h200")), "unknown chip '../devices/h200'");
}

// The built-in h200 with one piece of its text replaced.
static std::string h200With(llvm::StringRef from, llvm::StringRef to) {
  std::string text = builtinKnowledgeFile("devices/h200.json")->str();
  size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str();
  return text.replace(at, from.size(), to.str());
}

TEST(ChipInfo, ErrorsNameFileAndField) {
  auto error = [](const std::string &json) { return errorOf(parseChip(json, "my.json")); };
  EXPECT_EQ(error("[]"), "device file 'my.json': it must hold one JSON object");
  EXPECT_EQ(error(h200With("\"smCount\"", "\"smcount\"")),
            "device file 'my.json': field 'figures.smCount' is missing or no object");
  EXPECT_EQ(error(h200With("{\"value\": 132,", "{\"value\": \"132\",")),
            "device file 'my.json': field 'figures.smCount.value' is missing or no number");
  EXPECT_EQ(error(h200With("{\"value\": 132,", "{\"value\": 0,")),
            "device file 'my.json': field 'figures.smCount.value' must be positive");
  EXPECT_EQ(error(h200With("\"source\": \"NVIDIA H100 whitepaper, SXM5\"", "\"source\": \"\"")),
            "device file 'my.json': field 'figures.smCount.source' is missing: name where the "
            "figure comes from");
  EXPECT_EQ(error(h200With("\"9.0\"", "\"nine\"")),
            "device file 'my.json': field 'computeCapability' must be a string such as \"9.0\"");
  EXPECT_EQ(error(h200With("\"figures\": {", "\"figures\": {\"turbo\": {},")),
            "device file 'my.json': field 'figures.turbo' is unknown");
  EXPECT_NE(error(h200With("\"figures\": {", "\"figures\": {,")).find("device file 'my.json': ["),
            std::string::npos);
}

TEST(ChipInfo, AnOverlayGoesFirst) {
  FakeFileSystem files;
  files.files["data/devices/h200.json"] = h200With("{\"value\": 132,", "{\"value\": 78,");
  llvm::Expected<ChipInfo> chip = loadChip("h200", files, "data/devices");
  ASSERT_TRUE(bool(chip));
  EXPECT_EQ(chip->smCount, 78);
  EXPECT_EQ(chipOrDie("h200").smCount, 132);
}

TEST(ChipInfo, SimilarityFallsWithDistance) {
  ChipInfo h200 = chipOrDie("h200"), h100 = chipOrDie("h100"), a100 = chipOrDie("a100"),
           a6000 = chipOrDie("a6000"), b200 = chipOrDie("b200");
  EXPECT_EQ(chipSimilarity(h200, h200), 1);
  EXPECT_EQ(chipSimilarity(h200, h100), 0.8);
  EXPECT_EQ(chipSimilarity(a100, a6000), 0.6);
  EXPECT_EQ(chipSimilarity(h200, b200), 0.4);
  EXPECT_EQ(chipSimilarity(a100, b200), 0.25);
}
