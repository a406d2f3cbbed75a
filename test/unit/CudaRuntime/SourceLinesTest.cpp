//===- SourceLinesTest.cpp - from machine code to source lines ------------===//
#include "kbrt/CudaPlan.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// A cubin with a line table by nvcc; empty without nvcc.
std::string compileKernel(const std::string &flags) {
  std::filesystem::path folder = std::filesystem::temp_directory_path();
  std::string name = "kb-lines-" + std::to_string(getpid());
  std::string source = folder / (name + ".cu"), cubin = folder / (name + ".cubin");
  std::ofstream(source) << "__global__ void twice(int n, float *y) {\n"
                           "  int i = threadIdx.x;\n"
                           "  if (i < n)\n"
                           "    y[i] = 2 * y[i];\n"
                           "}\n";
  const char *toolkit = std::getenv("CUDA_PATH");
  std::string nvcc = std::string(toolkit ? toolkit : "/usr/local/cuda") + "/bin/nvcc";
  std::string command =
      nvcc + " -cubin -arch=sm_90 " + flags + " " + source + " -o " + cubin + " >/dev/null 2>&1";
  std::ostringstream bytes;
  if (std::system(command.c_str()) == 0)
    bytes << std::ifstream(cubin, std::ios::binary).rdbuf();
  std::filesystem::remove(source);
  std::filesystem::remove(cubin);
  return bytes.str();
}

std::set<unsigned> linesOf(const std::string &cubin, Problem &problem) {
  std::set<unsigned> lines;
  for (uint64_t offset = 0; offset < 0x100; offset += 16)
    if (auto place = sourcePlace(cubin, "_Z5twiceiPf", offset, problem))
      lines.insert(place->line);
  return lines;
}

TEST(SourceLines, FollowTheLineTableOfACubin) {
  std::string cubin = compileKernel("-lineinfo");
  Problem problem;
  if (cubin.empty() ||
      (!sourcePlace(cubin, "_Z5twiceiPf", 0, problem) && problem.message.starts_with("no CUPTI")))
    GTEST_SKIP() << "needs nvcc and CUPTI " << problem.message;
  std::set<unsigned> lines = linesOf(cubin, problem);
  EXPECT_TRUE(lines.count(2) && lines.count(4)) << problem.message;
  EXPECT_EQ(lines.count(0), 0u);
  EXPECT_TRUE(sourcePlace(cubin, "_Z5twiceiPf", 0, problem)->file.ends_with(".cu"));
  EXPECT_FALSE(sourcePlace(cubin, "_Z6absentv", 0, problem));
  EXPECT_NE(problem.message.find("_Z6absentv"), std::string::npos);
  std::string bare = compileKernel("");
  for (unsigned line : linesOf(bare, problem))
    EXPECT_EQ(line, 0u);
}

TEST(StallNames, AreOnesThatCountEachSampleOnce) {
  EXPECT_EQ(stallName("smsp__pcsamp_warps_issue_stalled_long_scoreboard"), "long_scoreboard");
  EXPECT_EQ(stallName("smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"), "");
  EXPECT_EQ(stallName("smsp__pcsamp_sample_buffer_full"), "");
}

} // namespace
