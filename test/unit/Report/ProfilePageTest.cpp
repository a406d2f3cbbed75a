//===- ProfilePageTest.cpp - The page that --profile prints ----------------===//

#include "kb-opt/Report/ProfilePage.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace kbopt;

static KernelPage kernel() {
  KernelPage page;
  page.kernel = "scale";
  page.launch = "grid (2, 1, 1), block (64, 1, 1)";
  page.launches = 2;
  page.us = 8;
  page.share = 0.8;
  page.floorUs = 2;
  page.limiter = "latency";
  page.state = "memory_latency_bound";
  page.metrics = {{"gpu__time_duration.sum", 4000},
                  {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 9},
                  {"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", 0.9},
                  {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", 0.1}};
  return page;
}

static std::string textOf(const ProfilePage &page) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeProfile(os, page);
  return text;
}

TEST(ProfilePage, ShowsSectionsStallsLinesAndPasses) {
  ProfilePage page{"a.cu", "h200", "modelled", "", {"no GPU"}, 10, {kernel()}};
  page.kernels[0].measure = "stalls";
  page.kernels[0].lines = {
      {"a.cu", 3, "y[i] = x[i];", 0.75, "8.0 sectors per request", {"p{kernel=k site=2}"}}};
  page.kernels[0].advice = {{"vectorize-loads", true, "", 1.5, "seed"},
                            {"tune-block-size", false, "two dimensions", 1, ""}};
  EXPECT_EQ(
      textOf(page),
      "a.cu: 10.00 us in kernels, modelled for h200\n"
      "note: no GPU\n"
      "\n"
      "scale: 80.0 % of the kernel time, 8.00 us in 2 launches; grid (2, 1, 1), block (64, 1, 1)\n"
      "  state: memory_latency_bound\n"
      "  limited by: latency; 25.0 % of the roofline (2.00 us)\n"
      "  Speed Of Light\n"
      "    Duration                        us              4.00\n"
      "  Warp State (cycles per issue)\n"
      "    Stall Long Scoreboard           cycle           9.00\n"
      "    Stall Wait                      cycle           0.90\n"
      "  Source (share of stalls)\n"
      "     75.0 %  a.cu:3: y[i] = x[i];\n"
      "             8.0 sectors per request\n"
      "             sites: p{kernel=k site=2}\n"
      "  Passes (estimated speedup of this kernel)\n"
      "    vectorize-loads            1.50 x  seed\n"
      "    tune-block-size            does not apply: two dimensions\n");
}

TEST(ProfilePage, WrapsLongReasons) {
  ProfilePage page{"a.cu", "h200", "modelled", "", {}, 10, {kernel()}};
  page.kernels[0].why = "";
  for (int i = 0; i < 40; ++i)
    page.kernels[0].why += "word" + std::to_string(i) + " ";
  llvm::SmallVector<llvm::StringRef> lines;
  std::string text = textOf(page);
  llvm::StringRef(text).split(lines, '\n');
  for (llvm::StringRef line : lines)
    EXPECT_LE(line.size(), 98u) << line.str();
  EXPECT_NE(text.find("word39"), std::string::npos);
}

TEST(ProfilePage, LeavesOutWhatIsUnknown) {
  ProfilePage page{"a.cu", "h200", "measured", "", {}, 10, {kernel()}};
  page.kernels[0].metrics.clear();
  page.kernels[0].limiter.clear();
  page.kernels[0].floorUs = 0;
  std::string text = textOf(page);
  EXPECT_EQ(text.find("Speed Of Light"), std::string::npos);
  EXPECT_EQ(text.find("Warp State"), std::string::npos);
  EXPECT_EQ(text.find("limited by"), std::string::npos);
}

TEST(ProfilePage, JsonCarriesTheSameFacts) {
  ProfilePage page{"a.cu", "h200", "modelled", "", {"no GPU"}, 10, {kernel()}};
  llvm::json::Value value = toJSON(page);
  const llvm::json::Object &object = *value.getAsObject();
  EXPECT_EQ(object.getString("source"), "modelled");
  const llvm::json::Object &first = *(*object.getArray("kernels"))[0].getAsObject();
  EXPECT_EQ(first.getNumber("us"), 8);
  EXPECT_EQ(first.getObject("metrics")->getNumber("gpu__time_duration.sum"), 4000);
}
