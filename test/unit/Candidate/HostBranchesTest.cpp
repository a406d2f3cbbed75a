//===- HostBranchesTest.cpp - Branches that a candidate's host adds -------===//
#include "kb-opt/Candidate/HostBranches.h"
#include "../Source/SourceTestUtils.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

constexpr const char *kernels = "__global__ void k(int n) {}\n__global__ void l(int n) {}\n";

std::string program(const std::string &body) {
  return kernels + ("void run(int n, float *p) {\n" + body + "\n}\n");
}

NotedHost noted(const std::string &body, const std::string &originalBody = "k<<<1, 1>>>(n);") {
  return noteBranches(*test::parse(program(body)), program(originalBody));
}

/// The conditions whose sides are asked for: "n > 3:tf" is asked for both.
std::string asked(const std::string &body, const std::string &original = "k<<<1, 1>>>(n);") {
  std::string all;
  for (const HostBranch &branch : noted(body, original).branches)
    all += (all.empty() ? "" : ", ") + branch.text + ":" + (branch.taken ? "t" : "") +
           (branch.passed ? "f" : "");
  return all;
}

TEST(HostBranches, BothSidesOfANewCondition) {
  EXPECT_EQ(asked("if (n > 3) l<<<1, 1>>>(n); else l<<<2, 1>>>(n);"), "n > 3:tf");
  EXPECT_EQ(asked("if (n > 3) l<<<1, 1>>>(n);"), "n > 3:tf");
  EXPECT_EQ(asked("n > 3 ? run(n, p) : run(1, p);"), "n > 3:tf");
  EXPECT_EQ(asked("for (int i = 1; i < n; ++i) l<<<1, 1>>>(i);"), "i < n:t");
  EXPECT_EQ(asked("switch (n) { case 1: l<<<1, 1>>>(n); break; default: l<<<2, 1>>>(n); }"),
            "default:t, case 1:t");
}

TEST(HostBranches, WhatFollowsAReturnIsASide) {
  EXPECT_EQ(asked("if (n > 3) { l<<<1, 1>>>(n); return; } l<<<2, 1>>>(n);"), "n > 3:tf");
  EXPECT_EQ(asked("if (n > 3) { l<<<1, 1>>>(n); return; } k<<<1, 1>>>(n);"), "n > 3:t");
}

TEST(HostBranches, TheOriginalsOwnCodeNeedsNoCase) {
  EXPECT_EQ(asked("if (n % 4 == 0) l<<<1, 1>>>(n); else k<<<1, 1>>>(n);"), "n % 4 == 0:t");
  EXPECT_EQ(asked("if (n <= 0) return; l<<<1, 1>>>(n);", "if (n <= 0) return; k<<<1, 1>>>(n);"),
            "");
  EXPECT_EQ(asked("if (n > 3) { l<<<1, 1>>>(n); }", "if (n > 3) { k<<<1, 1>>>(n); }"), "n > 3:t");
}

TEST(HostBranches, FailuresAndConstantsAreNone) {
  EXPECT_EQ(asked("if (cudaMalloc(&p, 4) != cudaSuccess) return;"), "");
  EXPECT_EQ(asked("if (!p) return;"), "");
  EXPECT_EQ(asked("if (p) cudaFree(p);"), "p:tf") << "the program does not end there";
  EXPECT_EQ(
      asked("bool done = cudaDeviceSynchronize() == cudaSuccess; if (!done) cudaGetLastError();"),
      "");
  EXPECT_EQ(asked("bool done = cudaDeviceSynchronize() == cudaSuccess; if (!done) l<<<1, 1>>>(n);"),
            "!done:tf");
  EXPECT_EQ(asked("const int tile = 32; if (tile > 64) l<<<1, 1>>>(n);"), "");
}

TEST(HostBranches, AWayOutForNothingIsNone) {
  EXPECT_EQ(asked("if (n <= 0 || n == 0) return; l<<<1, 1>>>(n);"), "n <= 0 || n == 0:f");
  EXPECT_EQ(asked("if (n <= 0) abort();"), "n <= 0:tf");
  EXPECT_EQ(asked("if (n <= 7) return; l<<<1, 1>>>(n);"), "n <= 7:tf");
}

TEST(HostBranches, ChoicesOfValuesThatSomethingElseAsksFor) {
  EXPECT_EQ(asked("l<<<1, 1>>>(n > 7 ? n : 7);"), "") << "the larger of two";
  EXPECT_EQ(asked("l<<<1, 1>>>(n > 7 ? n : 8);"), "n > 7:tf");
  EXPECT_EQ(asked("if ((n > 7 ? n : 8) > 9) l<<<1, 1>>>(n);"), "(n > 7 ? n : 8) > 9:tf");
}

TEST(HostBranches, WhatTheProgramsOwnTextDecides) {
  auto decided = [](const std::string &body) {
    NotedHost host = noted(body);
    return !host.branches.empty() && host.branches[0].isDecided;
  };
  EXPECT_TRUE(decided("if (n % 4 == 0 && (size_t)p % 16 == 0) l<<<1, 1>>>(n);"));
  EXPECT_TRUE(decided("dim3 grid(n, n); if (grid.y > 8191) l<<<1, 1>>>(n);"));
  EXPECT_TRUE(decided("float *q = p + 9; if (p + n <= q || q + n <= p) l<<<1, 1>>>(n);"));
  EXPECT_FALSE(decided("float *q = p + 9; if (p < q) l<<<1, 1>>>(n);"));
  EXPECT_FALSE(decided("if ((size_t)p % 4096 == 0) l<<<1, 1>>>(n);"));
  EXPECT_FALSE(
      decided("int m; cudaMemcpy(&m, p, 4, cudaMemcpyDeviceToHost); if (m > 3) l<<<1, 1>>>(n);"));
  EXPECT_FALSE(decided("int some[2] = {n, n}; if (some[1] > 3) l<<<1, 1>>>(n);"));
}

TEST(HostBranches, AMacroHidesWhatItBranchesOn) {
  const std::string text = "#define EITHER(c, a, b) if (c) a; else b\n" +
                           program("EITHER(n > 3, run(n, p), run(1, p));");
  NotedHost host = noteBranches(*test::parse(text), program("k<<<1, 1>>>(n);"));
  ASSERT_EQ(host.hidden.size(), 1u);
  EXPECT_EQ(host.hidden[0], "line 5: the macro EITHER");
}

TEST(HostBranches, TheTextNotesThemOnTheSameLines) {
  NotedHost host = noted("if (n > 3)\n  l<<<1, 1>>>(n);");
  const auto [before, after] = llvm::StringRef(host.text).split("#line 1\n");
  EXPECT_FALSE(after.empty());
  EXPECT_TRUE(after.contains("if (kbrecordChose(0, static_cast<bool>(n > 3)))\n")) << host.text;
}

TEST(HostBranches, WhatIsNotReachedIsNotAskedFor) {
  NotedHost host = noted("if (n > 3) { if (n > 5) l<<<1, 1>>>(n); }");
  auto open = [&](std::set<unsigned> taken, std::set<unsigned> called = {}) {
    return sidesNotSeen(host, taken, called);
  };
  EXPECT_EQ(open({1}), std::vector<std::string>{"line 4: 'n > 3' is never true"});
  EXPECT_TRUE(open({}).empty());
  EXPECT_TRUE(open({0, 1, 2, 3}).empty());
  EXPECT_EQ(open({1}, {0, 3}), (std::vector<std::string>{"line 4: 'n > 3' is never true",
                                                         "line 4: 'n > 5' is never true",
                                                         "line 4: 'n > 5' is never false"}))
      << "a launch that was never executed";
  NotedHost plain =
      noted("int blocks = n; if (blocks > 65535) blocks = 65535; l<<<blocks, 1>>>(n);");
  EXPECT_TRUE(sidesNotSeen(plain, {1}, {0}).empty());
}

TEST(HostBranches, SeedsAreWrapped) {
  const std::string text =
      "#include <random>\nvoid fill(unsigned seed) {}\nvoid run(unsigned given) {\n"
      "std::mt19937 one(42); std::minstd_rand two{given};\none.seed(7);\nfill(3);\n"
      "unsigned state = 9, other = 9;\n}\n";
  NotedHost host = noteSeeds(*test::parse(text));
  for (const char *part :
       {"one(kbrecordSeed(42))", "two{kbrecordSeed(given)}", "one.seed(kbrecordSeed(7))",
        "fill(kbrecordSeed(3))", "state = kbrecordSeed(9), other = 9"})
    EXPECT_TRUE(llvm::StringRef(host.text).contains(part)) << part << "\n" << host.text;
  EXPECT_EQ(host.seeds.size(), 5u);
}

} // namespace
