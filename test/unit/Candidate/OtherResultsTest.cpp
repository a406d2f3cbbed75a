//===- OtherResultsTest.cpp - What a host would read elsewhere -------------===//
#include "../../../lib/Candidate/OtherResults.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/RecordKeeper.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstring>

using namespace kbopt;
using namespace kbrt;

namespace {

struct OtherResultsTest : testing::Test {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("kb-results"));
  Plan plan;
  std::vector<float> results = {1, 2, 3, 4e-9f};

  OtherResultsTest() {
    plan.buffers.push_back({16, BufferKind::Device, 0x600000001000, ElementType::F32, ""});
    const Region whole = Region::linear({0, 0}, 16);
    plan.steps = {AllocStep{0}, UploadStep{whole, 0, 0}, ReadStep{whole, 0, 0, false},
                  UploadStep{whole, 0, 0}};
  }
  /// Whether other results were written for the plan; they are in `others` then.
  bool write() {
    const std::string from = folder.file("from"), to = folder.file("to");
    FileSystem &files = realFileSystem();
    std::string problem;
    for (const std::string &each : {from, to})
      llvm::cantFail(files.createDirectories(each));
    EXPECT_TRUE(writePlan(plan, from, problem)) << problem;
    llvm::cantFail(files.write(
        from + "/" + observablesFileName,
        std::string(reinterpret_cast<const char *>(results.data()), results.size() * 4)));
    if (!llvm::cantFail(writeOtherResults(files, from, allResultFactors[0], to)))
      return false;
    const auto bytes = readObservables(to, problem);
    EXPECT_TRUE(bytes) << problem;
    others.resize(bytes->size() / 4);
    std::memcpy(others.data(), bytes->data(), bytes->size());
    return true;
  }
  std::vector<float> others;
};

TEST_F(OtherResultsTest, WhatWasSmallLiesElsewhere) {
  ASSERT_TRUE(write());
  ASSERT_EQ(others.size(), results.size());
  EXPECT_GT(others[3], 0.4f);
  std::sort(others.begin(), others.end());
  EXPECT_LT(others[0], 1e-8f);
  EXPECT_NE(others[1], 1);
}

TEST_F(OtherResultsTest, NothingFollowsTheLastRead) {
  plan.steps.pop_back();
  EXPECT_FALSE(write());
}

TEST_F(OtherResultsTest, IntegersMayBePlaces) {
  plan.buffers[0].element = ElementType::I32;
  EXPECT_FALSE(write());
}

} // namespace
