//===- RecorderGpuTest.cpp - Programs recorded on a GPU that is a fake ------===//
#include "FakeCubin.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Plan/Recorder.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <cstdlib>

#if defined(KBOPT_TEST_PROGRAMS) && defined(KBOPT_TEST_DRIVER)

using namespace kbopt;
using namespace kbrt;

namespace {

class RecorderOnGpu : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryDirectory::create("recorder");
    ASSERT_TRUE(static_cast<bool>(created));
    folder.emplace(std::move(*created));
    CubinTable table{{{"_Z5scalePfif", {8, 4, 4}, 24, 0, 0},
                      {"lookUp", {8, 4}, 24, 0, 0},
                      {"_Z6followPPf", {8}, 24, 0, 0},
                      {"_Z4trapPf", {8}, 24, 0, 0}},
                     {{"table", 16, false, false}}};
    cubin = folder->file("image.cubin");
    ASSERT_FALSE(static_cast<bool>(realFileSystem().write(cubin, makeCubin(table))));
    request.executable = KBOPT_TEST_PROGRAMS;
    request.image = cubin;
    request.limits.wallSeconds = 60;
    setenv("LD_LIBRARY_PATH", KBOPT_TEST_DRIVER, 1);
  }
  void TearDown() override { unsetenv("LD_LIBRARY_PATH"); }

  Recording finished(llvm::Expected<Recording> recording) {
    if (recording)
      return std::move(*recording);
    ADD_FAILURE() << llvm::toString(recording.takeError());
    return {};
  }
  Recording record(const char *program, const std::string &image) {
    request.arguments = {program};
    request.image = image;
    request.folder = folder->file(image == cubin ? "gpu" : "cpu");
    return finished(recordProgram(realProcessRunner(), request));
  }
  Recording fed(const char *program, const Recording &original) {
    request.arguments = {program};
    request.image = cubin;
    request.folder = folder->file("fed");
    return finished(recordOracleFed(realProcessRunner(), request, original.folder));
  }

  static std::string steps(const Plan &plan) {
    std::string text;
    for (const Step &step : plan.steps)
      text += std::string(stepName(step)) + " ";
    return text;
  }

  std::optional<TemporaryDirectory> folder;
  std::string cubin;
  RecordRequest request;
};

void expectSame(const Recording &one, const Recording &other) {
  EXPECT_EQ(one.status, RecordStatus::Good) << one.message << one.err;
  EXPECT_EQ(other.status, RecordStatus::Good) << other.message << other.err;
  EXPECT_EQ(one.out, other.out);
  EXPECT_EQ(firstLaunchDifference(one.plan, other.plan), std::nullopt);
  EXPECT_EQ(firstHostDifference(one.plan, other.plan), std::nullopt);
}

TEST_F(RecorderOnGpu, WritesWhatTheCpuDeviceWrites) {
  for (const char *program :
       {"simple", "symbols", "managed", "pinned", "pitched", "streams", "decide", "memory-pointers",
        "product", "repeat", "refill", "threads"}) {
    SCOPED_TRACE(program);
    Recording cpu = record(program, KBOPT_TEST_IMAGE), gpu = record(program, cubin);
    expectSame(cpu, gpu);
    EXPECT_EQ(llvm::cantFail(cpu.observables()), llvm::cantFail(gpu.observables()));
    EXPECT_EQ(steps(cpu.plan), steps(gpu.plan));
  }
}

TEST_F(RecorderOnGpu, TypesOfKernelsWithCLinkageAreTold) {
  EXPECT_EQ(record("symbols", cubin).plan.buffers.at(0).element, ElementType::Unknown);
  request.kernelTypes["lookUp"] = {{{0, {ElementType::I32}}}, {}};
  EXPECT_EQ(record("symbols", cubin).plan.buffers.at(0).element, ElementType::I32);
}

TEST_F(RecorderOnGpu, ErrorsAreTheSame) {
  EXPECT_EQ(record("errors", cubin).out, record("errors", KBOPT_TEST_IMAGE).out);
}

TEST_F(RecorderOnGpu, OracleFedRunsNeedNoGpu) {
  for (const char *program : {"simple", "symbols", "managed", "product"}) {
    SCOPED_TRACE(program);
    setenv("LD_LIBRARY_PATH", KBOPT_TEST_DRIVER, 1);
    Recording original = record(program, cubin);
    unsetenv("LD_LIBRARY_PATH");
    expectSame(original, fed(program, original));
  }
}

TEST_F(RecorderOnGpu, OracleFedRunsSeeTheRecordedDevice) {
  Recording original = record("properties", cubin);
  EXPECT_EQ(original.out, "Fake GPU: 7 7 7\n");
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(fed("properties", original).out, original.out);
}

TEST_F(RecorderOnGpu, AFaultyKernelIsNamed) {
  Recording recording = record("fault", cubin);
  EXPECT_EQ(recording.status, RecordStatus::KernelFault);
  EXPECT_EQ(recording.message,
            "program 'planTestPrograms' goes wrong by itself: kernel '_Z4trapPf' "
            "(launch 1): CUDA_ERROR_LAUNCH_FAILED");
  EXPECT_EQ(recording.out, record("fault", KBOPT_TEST_IMAGE).out);
}

TEST_F(RecorderOnGpu, WithoutADeviceTheEnvironmentIsToBlame) {
  request.environment = {"KB_FAKE_NO_DEVICE=1"};
  Recording recording = record("simple", cubin);
  EXPECT_EQ(recording.status, RecordStatus::NoDevice);
  EXPECT_EQ(recording.message, "cannot record program 'planTestPrograms' on a GPU: the CUDA driver "
                               "does not start: CUDA_ERROR_NO_DEVICE");
  EXPECT_FALSE(recording.note.empty());
  llvm::Error error = recording.asError();
  EXPECT_TRUE(error.isA<ToolError>());
  llvm::consumeError(std::move(error));
}

TEST_F(RecorderOnGpu, LimitsAreKept) {
  EXPECT_EQ(record("allocate", cubin).status, RecordStatus::OutOfMemory);
  request.limits.deviceBytes = 8; // of 16
  Recording recording = record("simple", cubin);
  EXPECT_EQ(steps(recording.plan).substr(0, 6), "error ") << "nothing was allocated";
}

TEST_F(RecorderOnGpu, WholeProgramsRunOnIt) {
  request.arguments = {"decide"};
  request.folder = folder->file("whole");
  Recording recording = finished(executeProgram(realProcessRunner(), request));
  EXPECT_EQ(recording.out, "5 rounds\n");
  EXPECT_TRUE(recording.plan.steps.empty());
}

TEST_F(RecorderOnGpu, ACubinThatEndsTooEarlyIsNamed) {
  std::string bytes = llvm::cantFail(realFileSystem().read(cubin));
  ASSERT_FALSE(static_cast<bool>(realFileSystem().write(cubin, bytes.substr(0, 100))));
  Recording recording = record("simple", cubin);
  EXPECT_EQ(recording.status, RecordStatus::Unsupported);
  EXPECT_NE(recording.message.find("it is a cubin that ends too early"), std::string::npos)
      << recording.message;
}

} // namespace

#endif // KBOPT_TEST_PROGRAMS and KBOPT_TEST_DRIVER
