//===- HotLinesTest.cpp - The lines that a model is told ------------------===//
#include "kb-opt/Candidate/HotLines.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace kbopt;
using testing::ElementsAre;

namespace {

HotLine line(const char *file, unsigned number, double share) {
  HotLine hot;
  hot.file = file;
  hot.line = number;
  hot.share = share;
  return hot;
}

struct HotLinesTest : testing::Test {
  CompileCommand command;
  std::string text;
  void SetUp() override {
    command.shownFile = "k.cu";
    command.toolkit.root = "/opt/cuda";
  }
  std::vector<std::string> told(std::vector<HotLine> lines) {
    return sentencesForModel({command, text}, std::move(lines), "global sectors");
  }
};

} // namespace

TEST_F(HotLinesTest, NameTheUsersLines) {
  EXPECT_THAT(told({line("/opt/cuda/include/sm_32_intrinsics.hpp", 123, 0.5), line("k.cu", 7, 0.25),
                    line("parts/body.h", 3, 0.15),
                    line("/usr/lib/llvm-22/lib/clang/22/include/__clang_cuda_math.h", 9, 0.1)}),
              ElementsAre("line 7: 25 % of the kernel's global sectors",
                          "line 3 of parts/body.h: 15 % of the kernel's global sectors",
                          "functions of the toolkit that it calls: 60 % of the kernel's global "
                          "sectors"));
}

TEST_F(HotLinesTest, FiveAreTold) {
  std::vector<HotLine> lines{line("/opt/cuda/include/x.h", 1, 0.02)};
  for (unsigned i = 1; i != 9; ++i)
    lines.push_back(line("k.cu", i, 0.1));
  EXPECT_EQ(told(lines).size(), 5u);
}

TEST_F(HotLinesTest, WithoutAToolkitNothingIsForeign) {
  command.toolkit.root = "";
  std::vector<HotLine> lines{line("parts/body.h", 1, 0.5)};
  EXPECT_EQ(takeForeign({command, text}, lines), 0);
  EXPECT_EQ(lines.size(), 1u);
}
