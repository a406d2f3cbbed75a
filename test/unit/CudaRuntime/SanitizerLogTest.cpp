//===- SanitizerLogTest.cpp - reading compute-sanitizer's log -------------===//
#include "kbrt/SanitizerLog.h"
#include <gtest/gtest.h>

using namespace kbrt;

namespace {

TEST(SanitizerLog, MergesThreadsOfOneDefect) {
  SanitizerLog log = readSanitizerLog("memcheck", R"(========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at _Z12writeOutsideiPi+0xb0 in a folder/kernels.cu:58
=========     by thread (232,0,0) in block (3,0,0)
=========     Access at 0x7f2000000fa0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2000000000 of size 4000 bytes
=========
========= Invalid __global__ write of size 4 bytes
=========     at _Z12writeOutsideiPi+0xb0 in a folder/kernels.cu:58
=========     by thread (233,0,0) in block (3,0,0)
=========     Access at 0x7f2000000fa4 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: [0x1234] in kb-run
=========
========= ERROR SUMMARY: 2 errors
)");
  EXPECT_EQ(log.trouble, "");
  ASSERT_EQ(log.findings.size(), 1u);
  const SanitizerFinding &finding = log.findings[0];
  EXPECT_EQ(finding.tool, "memcheck");
  EXPECT_EQ(finding.kernel, "_Z12writeOutsideiPi");
  EXPECT_EQ(finding.file, "a folder/kernels.cu");
  EXPECT_EQ(finding.line, 58u);
  EXPECT_EQ(finding.count, 2u);
  EXPECT_EQ(finding.text,
            "Invalid __global__ write of size 4 bytes; at _Z12writeOutsideiPi+0xb0 in "
            "a folder/kernels.cu:58");
}

TEST(SanitizerLog, TakesTheFirstPlaceOfARace) {
  SanitizerLog log = readSanitizerLog("racecheck", R"(========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at _Z4racePi+0x70 in k.cu:7
=========     and Read access at _Z4racePi+0xa0 in k.cu:9 [1024 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
)");
  ASSERT_EQ(log.findings.size(), 1u);
  EXPECT_EQ(log.findings[0].kernel, "_Z4racePi");
  EXPECT_EQ(log.findings[0].line, 7u);
  EXPECT_NE(log.findings[0].text.find("k.cu:9"), std::string::npos);
}

TEST(SanitizerLog, ReadsPlacesWithoutLinesAndOfOlderVersions) {
  SanitizerLog log = readSanitizerLog("initcheck", R"(========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at read(int *, const float *)+0x80
=========     by thread (0,0,0) in block (0,0,0)
=========
========= Barrier error detected. Divergent thread(s) in block.
=========     at 0x40 in folder/k.cu:12:_Z7barrierPi
=========     by thread (1,0,0) in block (0,0,0)
=========
========= Barrier error detected. Divergent thread(s) in warp.
=========     at 0x40 in _Z5otherPi
=========
)");
  ASSERT_EQ(log.findings.size(), 3u);
  EXPECT_EQ(log.findings[0].kernel, "read(int *, const float *)");
  EXPECT_EQ(log.findings[0].file, "");
  EXPECT_EQ(log.findings[1].kernel, "_Z7barrierPi");
  EXPECT_EQ(log.findings[1].file, "folder/k.cu");
  EXPECT_EQ(log.findings[1].line, 12u);
  EXPECT_EQ(log.findings[2].kernel, "_Z5otherPi");
}

TEST(SanitizerLog, TellsTroubleOfTheToolFromDefects) {
  SanitizerLog log = readSanitizerLog("memcheck", R"(========= COMPUTE-SANITIZER
========= Error: Target application terminated before first instrumented API call
=========     Tracking kernels launched by child processes requires the --target-processes all option.
=========
)");
  EXPECT_TRUE(log.findings.empty());
  EXPECT_EQ(log.trouble, "Error: Target application terminated before first instrumented API call");
  log = readSanitizerLog("memcheck", "========= COMPUTE-SANITIZER\n========= Program hit "
                                     "CUDA_ERROR_LAUNCH_FAILED (error 719) on CUDA API call\n"
                                     "========= ERROR SUMMARY: 0 errors\nprinted by the program\n");
  EXPECT_TRUE(log.findings.empty());
  EXPECT_EQ(log.trouble, "");
}

} // namespace
