#include "kb-opt/Eval/CudaDevice.h"
#include "SmallPlan.h"

using namespace kbopt;

namespace {

const char *const deviceText =
    R"("device": {"name": "NVIDIA H200", "arch": "sm_90", "driver": "580.95.05", "multiprocessors": 132,
       "l2Bytes": 52428800, "memoryBytes": 150754820096, "noise": []})";

std::string okResult(const std::string &more) {
  return std::string(R"({"version": 1, "status": "ok", "message": "", "kernels": [], )") +
         deviceText + (more.empty() ? "" : ", " + more) + "}";
}

const char *const summary = R"({"count": 30, "minUs": 9, "q1Us": 9.5, "medianUs": 10, "q3Us": 11,
                                "maxUs": 12, "meanUs": 10, "relativeDeviation": 0.01})";

std::string series(const std::string &comparison) {
  return std::string(
             R"({"stop": "quiet", "seconds": 1, "usualMHz": 1980, "discardedShare": 0.02, "candidate": )") +
         summary + R"(, "baseline": )" + summary + R"(, "decision": {"comparison": ")" +
         comparison + R"(", "ratio": 1.5, "lower": 1.4, "upper": 1.6, "reason": "because"}})";
}

std::string timing(const std::string &comparison) {
  return okResult(R"("launches": [], "timing": {"status": "ok", "message": "", "cold": )" +
                  series(comparison) + R"(, "hot": )" + series(comparison) +
                  R"(, "outputs": {"candidate": {"checked": 40, "different": 2},
                      "baseline": {"checked": 40, "different": 0}},
                      "emptyKernelUs": 1.5, "batchedUs": {"baseline": 8, "candidate": 6}})");
}

/// Answers in order; the last answer stays.
struct FakeChannel : JobChannel {
  std::vector<std::string> answers;
  std::vector<JobRequest> requests;
  std::string observables = "abcdefgh";
  bool sharesFiles = false;
  std::map<std::string, SharedBytes> contents;
  bool takesContents() const override { return sharesFiles; }
  llvm::Expected<JobAnswer> run(const JobRequest &request) override {
    requests.push_back(request);
    std::string text = answers.front();
    if (answers.size() > 1)
      answers.erase(answers.begin());
    return JobAnswer{std::move(*llvm::cantFail(llvm::json::parse(text)).getAsObject()), observables,
                     contents};
  }
};

struct FakeCompiler : DeviceCompiler {
  std::string cubin;
  llvm::Expected<DeviceCode> compile(const ProgramArtefacts &) override {
    DeviceCode code;
    code.cubinPath = cubin;
    code.digest = "code";
    return code;
  }
};

struct CudaDeviceTest : testing::Test {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("cuda-device-test"));
  FakeChannel *channel = nullptr;
  FakeCompiler compiler;
  std::unique_ptr<CudaDevice> device;
  std::vector<std::string> notices;
  GpuSubject subject;
  DeviceImage image;

  void SetUp() override {
    writeSmallPlan(folder.path().str());
    subject = {folder.file("image.cubin"), folder.path().str()};
    image.path = subject.cubinPath;
    auto fake = std::make_unique<FakeChannel>();
    channel = fake.get();
    CudaDeviceOptions options;
    options.arch = "sm_90";
    options.notice = [this](const std::string &text) { notices.push_back(text); };
    device = std::make_unique<CudaDevice>(compiler, std::move(fake), options);
  }
  std::string errorOf(llvm::Error error) {
    std::string text;
    llvm::raw_string_ostream os(text);
    reportError(os, "kb-opt", std::move(error));
    return text;
  }
};

TEST_F(CudaDeviceTest, FactsAreAskedOnce) {
  channel->answers = {okResult("")};
  EXPECT_EQ(llvm::cantFail(device->facts()).name, "NVIDIA H200");
  EXPECT_EQ(llvm::cantFail(device->facts()).arch, "sm_90");
  EXPECT_EQ(channel->requests.size(), 1u);
  EXPECT_TRUE(channel->requests[0].subject.image.empty());
}

TEST_F(CudaDeviceTest, MissingDriverIsTheMachinesFault) {
  channel->answers = {
      R"({"version": 1, "status": "environment", "message": "no CUDA driver", "note": "install it"})"};
  auto facts = device->facts();
  ASSERT_FALSE(bool(facts));
  std::string text;
  llvm::raw_string_ostream os(text);
  EXPECT_EQ(reportError(os, "kb-opt", facts.takeError()), ExitStatus::Environment);
  EXPECT_NE(text.find("no CUDA driver"), std::string::npos) << text;
  EXPECT_NE(text.find("install it"), std::string::npos) << text;
}

TEST_F(CudaDeviceTest, BuildsMachineCodeAndNothingElse) {
  compiler.cubin = "a.cubin";
  EXPECT_EQ(llvm::cantFail(device->build({}, RunMode::Plain)).path, "a.cubin");
  EXPECT_NE(errorOf(device->build({}, RunMode::Check).takeError()).find("mode 'check'"),
            std::string::npos);
  compiler.cubin.clear();
  EXPECT_NE(errorOf(device->build({}, RunMode::Plain).takeError()).find("CUDA_PATH"),
            std::string::npos);
}

TEST_F(CudaDeviceTest, BytesThatSomebodyHoldsDoNotComeAgain) {
  channel->sharesFiles = true;
  channel->answers = {okResult(R"("launches": [], "contents": ["aa-4", "bb-4"])")};
  channel->contents = {{"aa-4", std::string("abcd")}, {"bb-4", std::string("efgh")}};
  std::optional<RunResult> first = llvm::cantFail(device->run(image, folder.path(), RunOptions()));
  EXPECT_EQ(first->outputs, (std::vector<SharedBytes>{std::string("abcd"), std::string("efgh")}));
  auto known = [&] {
    std::string text;
    for (const llvm::json::Value &digest :
         *channel->requests.back().fields.getObject("contents")->getArray("known"))
      text += digest.getAsString()->str() + " ";
    return text;
  };
  EXPECT_EQ(known(), "");
  channel->answers = {okResult(R"("launches": [], "contents": ["bb-4", "bb-4"])")};
  channel->contents = {};
  std::optional<RunResult> second = llvm::cantFail(device->run(image, folder.path(), RunOptions()));
  EXPECT_EQ(known(), "aa-4 bb-4 ");
  EXPECT_EQ(second->outputs[1].data(), first->outputs[1].data());
  // The salt is the device's own, and stays.
  auto salt = [&](size_t i) {
    return channel->requests[i].fields.getObject("contents")->getString("salt")->str();
  };
  EXPECT_EQ(salt(0).size(), 32u);
  EXPECT_EQ(salt(0), salt(1));
  first.reset();
  llvm::cantFail(device->run(image, folder.path(), RunOptions()));
  EXPECT_EQ(known(), "bb-4 ");
  second.reset();
  EXPECT_NE(errorOf(device->run(image, folder.path(), RunOptions()).takeError())
                .find("no bytes for the read 'bb-4'"),
            std::string::npos);
  EXPECT_EQ(known(), "");
}

TEST_F(CudaDeviceTest, RunCutsOutputsAndTellsOfVariation) {
  channel->answers = {
      okResult(R"("launches": [{"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1],
      "dynamicSharedBytes": 4, "wallSeconds": 1e-6, "findings": []}],
      "findings": [{"kind": "guard-zone-changed", "severity": "error", "kernel": "k", "message": "guard zone of x",
                    "buffer": "x", "offset": 8}],
      "repetitions": {"count": 2, "identical": false, "firstDifference": {"repetition": 1, "read": 1}})")};
  RunOptions options;
  options.memoryPoison = 7;
  options.repetitions = 5;
  options.wallSeconds = 3;
  RunResult result = llvm::cantFail(device->run(image, folder.path(), options));
  EXPECT_EQ(result.outputs, (std::vector<SharedBytes>{std::string("abcd"), std::string("efgh")}));
  EXPECT_EQ(result.defects(), std::vector<std::string>{"guard zone of x"});
  EXPECT_EQ(result.findings[0].array, "x");
  EXPECT_EQ(result.variation, "execution 2 gives other results than the first, first in output 1");
  const llvm::json::Object &job = channel->requests[0].fields;
  EXPECT_EQ(job.getInteger("memoryPoison"), 7);
  EXPECT_EQ(job.getInteger("repetitions"), 5);
  EXPECT_EQ(job.getString("arch"), llvm::StringRef("sm_90"));
  EXPECT_GE(channel->requests[0].limitSeconds, 15);
}

TEST_F(CudaDeviceTest, JobsAboutOneImageShareASession) {
  channel->answers = {okResult(R"("launches": [])"), timing("faster")};
  (void)llvm::cantFail(device->run(image, folder.path(), {}));
  TimingRequest again;
  (void)llvm::cantFail(device->measure(subject, subject, again));
  again.seed = 1001;
  (void)llvm::cantFail(device->measure(subject, subject, again));
  GpuSubject other = subject;
  other.cubinPath = folder.file("other.cubin");
  llvm::cantFail(realFileSystem().write(other.cubinPath, "another image"));
  (void)llvm::cantFail(device->measure(other, subject, TimingRequest()));
  std::vector<std::string> sessions;
  for (const JobRequest &request : channel->requests)
    sessions.push_back(request.fields.getString("session")->str());
  ASSERT_EQ(sessions.size(), 4u);
  // Runs are shared out among a few processes of the image.
  EXPECT_TRUE(llvm::StringRef(sessions[0]).starts_with(sessions[1]));
  EXPECT_NE(sessions[1], sessions[2]) << "an independent measurement has a process of its own";
  EXPECT_NE(sessions[1], sessions[3]);
}

TEST_F(CudaDeviceTest, FaultsAreTheCandidates) {
  const std::pair<const char *, RunStatus> expected[] = {{"fault", RunStatus::Fault},
                                                         {"timeout", RunStatus::Timeout},
                                                         {"out-of-memory", RunStatus::OutOfMemory},
                                                         {"crash", RunStatus::Fault},
                                                         {"unsupported", RunStatus::Unsupported}};
  for (const auto &[status, meaning] : expected) {
    channel->answers = {std::string(R"({"version": 1, "status": ")") + status +
                        R"(", "message": "m"})"};
    RunResult result = llvm::cantFail(device->run(image, folder.path(), {}));
    EXPECT_EQ(result.status, meaning) << status;
    EXPECT_EQ(result.message, "m");
    TimingReport report =
        llvm::cantFail(device->measure(subject, {subject.cubinPath, subject.planFolder},
                                       TimingRequest{.seed = uint64_t(meaning) + 9}));
    EXPECT_EQ(report.status, meaning) << status;
  }
}

TEST_F(CudaDeviceTest, ALostDeviceThatComesBackCostsARepetition) {
  std::string lost =
      R"({"version": 1, "status": "environment", "message": "the device is lost", "kernels": []})";
  channel->answers = {lost, okResult(""), okResult(R"("launches": [])")};
  RunResult result = llvm::cantFail(device->run(image, folder.path(), {}));
  EXPECT_EQ(result.status, RunStatus::Ok);
  EXPECT_EQ(channel->requests.size(), 3u) << "the job, the question whether it is there, the job";
}

TEST_F(CudaDeviceTest, AJobThatLosesTheDeviceTwiceIsLostAndNoError) {
  std::string lost =
      R"({"version": 1, "status": "environment", "message": "the device is lost", "kernels": []})";
  channel->answers = {lost, okResult(""), lost, okResult("")};
  RunResult result = llvm::cantFail(device->run(image, folder.path(), {}));
  EXPECT_EQ(result.status, RunStatus::Lost);
  EXPECT_EQ(result.message, "the device is lost");
}

TEST_F(CudaDeviceTest, ADeviceThatAnswersNobodyEndsTheRun) {
  channel->answers = {
      R"({"version": 1, "status": "environment", "message": "no device", "note": "reset it"})"};
  std::string text = errorOf(device->run(image, folder.path(), {}).takeError());
  EXPECT_NE(text.find("no device"), std::string::npos) << text;
  EXPECT_NE(text.find("reset it"), std::string::npos) << text;
}

TEST_F(CudaDeviceTest, AMissingFileIsNotTheCandidates) {
  std::string missing =
      std::string(R"({"version": 1, "status": "environment", "message": "x: no such file", )") +
      deviceText + "}";
  channel->answers = {missing};
  EXPECT_NE(errorOf(device->run(image, folder.path(), {}).takeError()).find("no such file"),
            std::string::npos);
}

TEST_F(CudaDeviceTest, TimingIsReadAndAskedOnce) {
  channel->answers = {timing("faster")};
  TimingReport report =
      llvm::cantFail(device->measure(subject, subject, TimingRequest::forSearch()));
  EXPECT_EQ(report.cold.decision, TimingDecision::Faster);
  EXPECT_EQ(report.cold.ratio, 1.5);
  EXPECT_EQ(report.cold.ratioLowerBound, 1.4);
  EXPECT_EQ(report.cold.candidate.samples, 30u);
  EXPECT_EQ(report.cold.baseline.q3Us, 11);
  EXPECT_EQ(report.outputsChecked, 40u);
  EXPECT_EQ(report.outputsDifferent, 2u);
  EXPECT_EQ(report.emptyKernelUs, 1.5);
  EXPECT_EQ(report.batchedCandidateUs, 6);
  EXPECT_EQ(report.device.driver, "580.95.05");
  ASSERT_TRUE(channel->requests[0].baseline.has_value());
  EXPECT_EQ(channel->requests[0].fields.getObject("timing")->getBoolean("hot"), false);
  (void)llvm::cantFail(device->measure(subject, subject, TimingRequest::forSearch()));
  EXPECT_EQ(channel->requests.size(), 1u);
  TimingRequest other = TimingRequest::forSearch();
  other.seed = 2;
  (void)llvm::cantFail(device->measure(subject, subject, other));
  EXPECT_EQ(channel->requests.size(), 2u) << "another seed is another question";
}

TEST_F(CudaDeviceTest, SlowerAndInconclusiveAreRead) {
  channel->answers = {timing("slower"), timing("inconclusive")};
  EXPECT_EQ(llvm::cantFail(device->measure(subject, subject, {})).cold.decision,
            TimingDecision::Slower);
  EXPECT_EQ(
      llvm::cantFail(device->measure(subject, subject, TimingRequest{.seed = 3})).cold.decision,
      TimingDecision::Inconclusive);
}

TEST_F(CudaDeviceTest, FiguresThatAreMissingAreErrors) {
  std::string whole = timing("faster");
  const std::string without[] = {"\"medianUs\"",   "\"ratio\"",          "\"lower\"",
                                 "\"comparison\"", "\"cold\"",           "\"outputs\"",
                                 "\"timing\"",     "\"discardedShare\"", "\"name\""};
  for (const std::string &field : without) {
    std::string text = whole;
    for (size_t at = 0; (at = text.find(field, at)) != std::string::npos;)
      text.replace(at, field.size(), "\"other\"");
    channel->answers = {text};
    auto report = device->measure(subject, subject, {});
    ASSERT_FALSE(bool(report)) << field;
    EXPECT_NE(errorOf(report.takeError()).find("is not understood"), std::string::npos) << field;
  }
  channel->answers = {timing("quicker")};
  EXPECT_NE(errorOf(device->measure(subject, subject, {}).takeError())
                .find("faster, slower or inconclusive"),
            std::string::npos);
}

TEST_F(CudaDeviceTest, ProfileJoinsLaunchesCountersAndLines) {
  channel->answers = {okResult(R"("launches": [
      {"step": 3, "kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "dynamicSharedBytes": 0, "wallSeconds": 9e-6},
      {"step": 5, "kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "dynamicSharedBytes": 0, "wallSeconds": 9e-6}],
      "profile": {"status": "ok", "message": "", "isDegraded": false, "degraded": "",
        "launches": [{"step": 3, "kernel": "k", "metrics": {"gpu__time_duration.sum": 5000, "x": 1}},
                     {"step": 4, "kernel": "k", "metrics": {"gpu__time_duration.sum": 7000}}],
        "lines": {"k": [{"file": "a.cu", "line": 4, "samples": 3, "stalls": {"wait": 3}},
                        {"file": "a.cu", "line": 7, "samples": 9, "stalls": {"long_scoreboard": 9}}]}})")};
  GpuProfile profile = llvm::cantFail(device->profile(subject, "ABC", true));
  ASSERT_EQ(profile.launches.size(), 2u);
  EXPECT_EQ(profile.launches[0].us, 5) << "step 4 repeats step 3, which stands for it";
  EXPECT_EQ(profile.launches[1].us, 9) << "no counters: the event's time";
  EXPECT_EQ(profile.launches[0].grid[0], 2u);
  EXPECT_EQ(profile.lines["k"][0].line, 7u) << "most samples first";
  EXPECT_EQ(profile.lines["k"][0].stalls["long_scoreboard"], 9u);
  EXPECT_EQ(channel->requests[0].fields.getObject("profile")->getBoolean("pcSampling"), true);
}

TEST_F(CudaDeviceTest, ADegradedProfileSaysWhy) {
  channel->answers = {
      okResult(R"("launches": [], "profile": {"isDegraded": true, "degraded": "no permission",
                                   "launches": [], "noLines": "no permission either"})")};
  GpuProfile profile = llvm::cantFail(device->profile(subject, "A", false));
  EXPECT_EQ(profile.degraded, "no permission");
  EXPECT_EQ(profile.noLines, "no permission either");
}

TEST_F(CudaDeviceTest, AuditAndSanitizerAreRead) {
  channel->answers = {
      okResult(R"("launches": [], "audit": {"launches": [{"kernel": "k", "grid": [1, 2, 3],
                                   "block": [4, 5, 6], "dynamicSharedBytes": 7, "stream": 13}],
                                   "changedAfterReturn": true})")};
  ExecutionAudit audit = llvm::cantFail(device->audit(subject));
  ASSERT_EQ(audit.launches.size(), 1u);
  EXPECT_EQ(audit.launches[0].grid[2], 3u);
  EXPECT_EQ(audit.launches[0].stream, 13u);
  EXPECT_TRUE(audit.changedAfterReturn);
  channel->answers = {
      okResult(R"("launches": [], "sanitizer": {"findings": [{"kind": "memcheck", "kernel": "k",
                                   "file": "a.cu", "line": 8, "text": "invalid write"}]})")};
  SanitizerReport report = llvm::cantFail(device->sanitize(subject, {"memcheck"}, 20));
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].line, 8u);
  channel->answers = {okResult("")};
  EXPECT_NE(errorOf(device->audit(subject).takeError()).find("is not understood"),
            std::string::npos);
}

TEST_F(CudaDeviceTest, NoiseIsToldOnce) {
  std::string noisy = okResult(R"("launches": [])");
  noisy.replace(noisy.find("\"noise\": []"), 11, R"("noise": ["another process uses it"])");
  channel->answers = {noisy};
  (void)llvm::cantFail(device->run(image, folder.path(), {}));
  (void)llvm::cantFail(device->run(image, folder.path(), {}));
  EXPECT_EQ(notices, std::vector<std::string>{"times may be unsteady: another process uses it"});
}

TEST_F(CudaDeviceTest, AnotherGpuInTheMiddleIsAnError) {
  std::string other = okResult(R"("launches": [])");
  other.replace(other.find("H200"), 4, "L40S");
  channel->answers = {okResult(""), other};
  (void)llvm::cantFail(device->facts());
  EXPECT_NE(errorOf(device->run(image, folder.path(), {}).takeError()).find("NVIDIA L40S"),
            std::string::npos);
}

} // namespace
