#include "kb-opt/Eval/CpuDevice.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/Plan.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

/// Plays kb-run: keeps the job and writes `result` and `observables`.
struct FakeKbRun : ProcessRunner {
  std::string result, observables, job;
  int exitStatus = 0;
  bool timedOut = false;
  ProcessRequest last;
  llvm::Expected<ProcessResult> run(const ProcessRequest &request) override {
    last = request;
    job = llvm::cantFail(realFileSystem().read(request.argv[1]));
    std::string folder = llvm::sys::path::parent_path(request.argv[1]).str();
    llvm::cantFail(realFileSystem().write(folder + "/result.json", result));
    llvm::cantFail(realFileSystem().write(folder + "/observables.bin", observables));
    ProcessResult ended;
    ended.exitStatus = exitStatus;
    ended.timedOut = timedOut;
    return ended;
  }
};

struct CpuDeviceTest : testing::Test {
  FakeKbRun kbRun;
  std::optional<TemporaryDirectory> folder;
  std::unique_ptr<CpuDevice> device;
  RunOptions options;

  void SetUp() override {
    folder.emplace(llvm::cantFail(TemporaryDirectory::create("cpu-device-test")));
    CpuDeviceOptions deviceOptions;
    deviceOptions.directory = folder->file("images");
    deviceOptions.kbRun = "bin/kb-run";
    deviceOptions.sandboxed = false;
    device = llvm::cantFail(CpuDevice::create(kbRun, deviceOptions));
    kbrt::Plan plan;
    plan.buffers.resize(1);
    plan.buffers[0].bytes = 8;
    plan.buffers[0].address = 0x600000000000;
    plan.steps.push_back(kbrt::AllocStep{0});
    for (uint64_t i = 0; i < 2; ++i)
      plan.steps.push_back(kbrt::ReadStep{kbrt::Region::linear({0, 4 * i}, 4), 4 * i, 0, false});
    plan.outcome.ending = kbrt::Ending::Exit;
    std::string error;
    ASSERT_TRUE(kbrt::writePlan(plan, folder->path().str(), error)) << error;
  }
  llvm::Expected<RunResult> run(RunMode mode = RunMode::Plain) {
    DeviceImage image;
    image.path = "image.so";
    image.mode = mode;
    return device->run(image, folder->path(), options);
  }
};

TEST_F(CpuDeviceTest, OutputsAreCutByThePlansReads) {
  kbRun.result = R"({"version": 1, "status": "ok", "message": "", "launches": []})";
  kbRun.observables = "abcdefgh";
  options.rounding = Rounding::Up;
  options.seed = 9;
  options.l2Bytes = 1 << 20;
  auto result = run();
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->outputs, (std::vector<SharedBytes>{std::string("abcd"), std::string("efgh")}));
  auto job = llvm::cantFail(llvm::json::parse(kbRun.job));
  EXPECT_EQ(job.getAsObject()->getString("rounding"), llvm::StringRef("up"));
  EXPECT_EQ(job.getAsObject()->getInteger("seed"), 9);
  EXPECT_EQ(job.getAsObject()->getInteger("l2Bytes"), 1 << 20);
  EXPECT_FALSE(job.getAsObject()->get("l1Bytes")) << "the device's default";
  EXPECT_GT(kbRun.last.memoryBytes, uint64_t(80) << 30);
}

TEST_F(CpuDeviceTest, FindingsAndCountersAreRead) {
  kbRun.exitStatus = 1;
  kbRun.result = R"({"version": 1, "status": "ok", "message": "", "launches": [{
    "kernel": "_Z1kv", "grid": [4, 2, 1], "block": [64, 1, 1], "dynamicSharedBytes": 16, "repeats": 3,
    "findings": [
      {"kind": "race-shared", "severity": "error", "kernel": "k", "array": "s", "text": "race on s",
       "place": {"file": "k.cu", "line": 12}},
      {"kind": "race-global", "severity": "benign", "text": "same value"}],
    "counters": {"kernel": "_Z1kv", "blocks": 8, "warps": 16, "warpInstructionsByOp": {"ffma": 5},
      "globalLoad": {"requests": 3, "sectors": 12}, "traffic": {"dramReadBytes": 99},
      "sites": [{"kind": "load", "space": "global", "line": 4, "access": {"requests": 3}},
                {"kind": "barrier", "space": "generic"}]}}]})";
  auto result = run(RunMode::Check);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->defects(), std::vector<std::string>{"race on s"});
  const LaunchRecord &launch = result->launches.at(0);
  EXPECT_EQ(launch.grid[1], 2u);
  EXPECT_EQ(launch.dynamicSharedBytes, 16u);
  EXPECT_EQ(launch.repeats, 3u);
  EXPECT_EQ(launch.findings[0].line, 12u);
  EXPECT_TRUE(launch.findings[1].benign);
  ASSERT_TRUE(launch.counters.has_value());
  EXPECT_EQ(launch.counters->warpInstructionsByOp[size_t(kbrt::Op::FFma)], 5);
  EXPECT_EQ(launch.counters->globalLoad.sectors, 12);
  EXPECT_EQ(launch.counters->traffic.dramReadBytes, 99);
  EXPECT_EQ(launch.counters->sites.size(), 1u) << "a barrier moves no data";
}

TEST_F(CpuDeviceTest, WhatASearchNeedsIsRead) {
  kbRun.result = R"({"version": 1, "status": "ok", "message": "", "launches": [],
                     "coverage": {"reached": [[3, 5]], "unreached": [[4, 7]]},
                     "near": [[4, 7, 1, 995, 4, 998], [1, 2]]})";
  kbRun.observables = "abcdefgh";
  auto result = run(RunMode::Search);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_NE(kbRun.job.find(R"("mode": "search")"), std::string::npos);
  EXPECT_EQ(result->coverage.unreached, (std::set<kbrt::SourcePosition>{{4, 7}}));
  ASSERT_EQ(result->near.size(), 1u); // and nothing that is not understood
  EXPECT_EQ(result->near[0].position, kbrt::SourcePosition(4, 7));
  EXPECT_EQ(result->near[0].distance, 995);
  EXPECT_EQ(result->near[0].right, 998);
}

TEST_F(CpuDeviceTest, StatusesAreTheJudges) {
  kbRun.exitStatus = 1;
  const std::pair<const char *, RunStatus> expected[] = {
      {"timeout", RunStatus::Timeout},           {"unsupported", RunStatus::Unsupported},
      {"out-of-memory", RunStatus::OutOfMemory}, {"crash", RunStatus::Fault},
      {"divergent-barrier", RunStatus::Fault},   {"invalid-launch", RunStatus::Fault}};
  for (const auto &[status, meaning] : expected) {
    kbRun.result = std::string(R"({"version": 1, "status": ")") + status + R"(", "message": "m"})";
    auto result = run();
    ASSERT_TRUE(bool(result)) << status;
    EXPECT_EQ(result->status, meaning) << status;
    EXPECT_EQ(result->message, "m");
  }
}

TEST_F(CpuDeviceTest, AKbRunThatHangsIsATimeout) {
  kbRun.timedOut = true;
  options.wallSeconds = 5;
  auto result = run();
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->status, RunStatus::Timeout);
  EXPECT_EQ(result->message, "no end within 5 s");
}

TEST_F(CpuDeviceTest, WhatIsNoResultIsAnError) {
  auto failure = [&] {
    auto result = run();
    return result ? std::string() : llvm::toString(result.takeError());
  };
  kbRun.result = "{";
  EXPECT_NE(failure().find("kb-run wrote no JSON"), std::string::npos);
  kbRun.result = R"({"version": 1, "status": "splendid"})";
  EXPECT_NE(failure().find("unknown status"), std::string::npos);
  kbRun.result = R"({"version": 1, "status": "ok"})";
  kbRun.observables = "abc";
  EXPECT_NE(failure().find("fewer results"), std::string::npos);
  kbRun.exitStatus = 3;
  EXPECT_NE(failure().find("kb-run failed with exit status 3"), std::string::npos);
}

} // namespace
