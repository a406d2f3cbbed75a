//===- RecorderTest.cpp - Programs under the recording runtime --------------===//
#include "kb-opt/Plan/Recorder.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/QuietEnding.h"
#include "gtest/gtest.h"
#include <cstring>

#ifdef KBOPT_TEST_PROGRAMS

using namespace kbopt;
using namespace kbrt;

namespace {

class Recorder : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryDirectory::create("recorder");
    ASSERT_TRUE(static_cast<bool>(created));
    folder.emplace(std::move(*created));
    request.executable = KBOPT_TEST_PROGRAMS;
    request.image = KBOPT_TEST_IMAGE;
    request.folder = folder->file("recording");
    request.limits.wallSeconds = 60;
  }

  Recording record(const char *program) {
    request.arguments = {program};
    auto recording = recordProgram(realProcessRunner(), request);
    if (!recording) {
      ADD_FAILURE() << llvm::toString(recording.takeError());
      return {};
    }
    return std::move(*recording);
  }

  Recording good(const char *program) {
    Recording recording = record(program);
    EXPECT_EQ(toString(recording.status).str(), "good") << recording.message << recording.err;
    return recording;
  }

  /// The steps' names in order.
  static std::string steps(const Plan &plan) {
    std::string text;
    for (const Step &step : plan.steps)
      text += (text.empty() ? "" : " ") + std::string(stepName(step));
    return text;
  }

  template <typename T> static std::vector<T> all(const Plan &plan) {
    std::vector<T> found;
    for (const Step &step : plan.steps)
      if (auto *one = std::get_if<T>(&step))
        found.push_back(*one);
    return found;
  }

  template <typename T> std::vector<T> values(const Recording &recording, const char *file) {
    auto bytes = realFileSystem().read(recording.folder + "/" + file);
    EXPECT_TRUE(static_cast<bool>(bytes));
    std::vector<T> result(bytes->size() / sizeof(T));
    std::memcpy(result.data(), bytes->data(), result.size() * sizeof(T));
    return result;
  }

  std::optional<TemporaryDirectory> folder;
  RecordRequest request;
};

TEST_F(Recorder, KnowsWhatTheProgramLookedAt) {
  const std::string here = folder->file("here");
  llvm::cantFail(realFileSystem().createDirectories(here + "/folder"));
  llvm::cantFail(realFileSystem().write(here + "/stream.txt", "content"));
  request.workingDirectory = here;
  Recording recording = good("looking");
  EXPECT_EQ(recording.out, "content\n2 4 6 8\n");
  ASSERT_TRUE(recording.inputs.has_value());
  for (const std::string &path :
       {here + "/stream.txt", here + "/file.txt", here + "/open.txt", std::string("/absent.txt"),
        here + "/asked.txt", here + "/folder", here + "/folder/inner.txt"})
    EXPECT_EQ(llvm::count(*recording.inputs, path), 1) << path;
  EXPECT_TRUE(llvm::any_of(*recording.inputs,
                           [](llvm::StringRef path) { return path.ends_with("/libc.so.6"); }));
  for (llvm::StringRef path : *recording.inputs)
    EXPECT_FALSE(path.starts_with("/proc/") || path == request.executable || path == request.image)
        << path.str();
}

TEST_F(Recorder, LeavesOutWhatIsTheProgramsOwnInASandbox) {
  const std::string here = folder->file("here");
  llvm::cantFail(realFileSystem().createDirectories(here));
  request.workingDirectory = here;
  request.sandbox = Sandbox{.readable = {here}};
  if (llvm::Error none = checkSandbox(realProcessRunner())) {
    llvm::consumeError(std::move(none));
    GTEST_SKIP();
  }
  Recording recording = good("looking");
  ASSERT_TRUE(recording.inputs.has_value());
  EXPECT_EQ(llvm::count(*recording.inputs, here + "/file.txt"), 1);
  EXPECT_EQ(llvm::count(*recording.inputs, "/absent.txt"), 1);
  EXPECT_EQ(llvm::count(*recording.inputs, P_tmpdir "/own.txt"), 0);
}

TEST_F(Recorder, DoesNotKnowWhatOtherProcessesLookAt) {
  EXPECT_FALSE(good("starting").inputs.has_value());
}

TEST_F(Recorder, SaysThatTheDiskIsFull) {
  for (const char *name : {dataFileName, observablesFileName}) {
    request.folder = folder->file(std::string("full-") + name);
    llvm::cantFail(realFileSystem().createDirectories(request.folder));
    ASSERT_EQ(symlink("/dev/full", (request.folder + "/" + name).c_str()), 0);
    request.arguments = {"simple"};
    auto recording = recordProgram(realProcessRunner(), request);
    ASSERT_FALSE(static_cast<bool>(recording)) << name;
    const std::string text = llvm::toString(recording.takeError());
    EXPECT_NE(text.find("cannot write the recording of program 'planTestPrograms' to '" +
                        request.folder + "': No space left on device"),
              std::string::npos)
        << text;
  }
}

TEST_F(Recorder, WritesStepsDataAndObservables) {
  Recording recording = good("simple");
  EXPECT_EQ(recording.out, "2 4 6 8\n");
  EXPECT_EQ(recording.exitStatus, 0);
  EXPECT_EQ(steps(recording.plan), "alloc upload launch read free");
  EXPECT_EQ(values<float>(recording, dataFileName), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(values<float>(recording, observablesFileName), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(recording.plan.outcome.ending, Ending::Exit);
  EXPECT_EQ(recording.plan.outcome.stdoutDigest.size(), 32u);
  const LaunchStep launch = all<LaunchStep>(recording.plan).at(0);
  EXPECT_EQ(launch.kernel, "_Z5scalePfif");
  EXPECT_EQ(launch.grid, (kbrt::Dim3{1, 1, 1}));
  EXPECT_EQ(launch.block, (kbrt::Dim3{32, 1, 1}));
  ASSERT_EQ(launch.arguments.size(), 3u);
  EXPECT_EQ(launch.arguments[0].pointers, (std::vector<PointerWord>{{0, {0, 0}}}));
  EXPECT_EQ(launch.arguments[1].bytes, (std::vector<uint8_t>{4, 0, 0, 0}));
  EXPECT_EQ(recording.plan.buffers.at(0).element, ElementType::F32);
  EXPECT_EQ(recording.plan.buffers.at(0).bytes, 16u);
}

TEST_F(Recorder, PutsOtherInputsInThePlaceOfThoseOfARecording) {
  request.folder = folder->file("usual");
  Recording usual = good("go-by-result");
  EXPECT_EQ(usual.out, "2: 8 256\n");
  std::vector<float> others = values<float>(usual, dataFileName);
  others[0] = 3;
  others[31] = 5;
  const std::string varied = folder->file("varied");
  llvm::cantFail(writePlanWithData(usual.plan, usual.folder, varied));
  llvm::cantFail(realFileSystem().write(
      varied + "/" + dataFileName,
      llvm::StringRef(reinterpret_cast<const char *>(others.data()), 4 * others.size())));
  request.folder = folder->file("other");
  request.replacement = UploadReplacement{usual.folder, varied};
  for (const char *program : {"go-by-result", "go-by-result-in-pieces"}) {
    Recording other = good(program);
    EXPECT_EQ(other.out, "6: 384 640\n") << program; // six times more
    EXPECT_FALSE(other.hasUnknownUpload) << program;
  }
  EXPECT_EQ(values<float>(good("go-by-result"), dataFileName), others);
  Recording unknown = good("go-by-another-result");
  EXPECT_EQ(unknown.out, "4: 64 1056\n"); // its own
  EXPECT_TRUE(unknown.hasUnknownUpload);
}

TEST_F(Recorder, IsTheSameEveryTime) {
  std::string first = planToJson(good("managed").plan);
  EXPECT_EQ(planToJson(good("managed").plan), first);
}

TEST_F(Recorder, SymbolsAreBuffers) {
  Recording recording = good("symbols");
  EXPECT_EQ(recording.out, "1 70 80 4\n");
  const Buffer &table = recording.plan.buffers.at(1);
  EXPECT_EQ(table.kind, BufferKind::Symbol);
  EXPECT_EQ(table.symbol, "table");
  EXPECT_EQ(table.element, ElementType::I32);
  EXPECT_EQ(all<UploadStep>(recording.plan).at(0).to, Region::linear({1, 4}, 8));
  // The kernel has no C++ name; the image's debug information has the type.
  EXPECT_EQ(recording.plan.buffers.at(0).element, ElementType::I32);
}

TEST_F(Recorder, ManagedMemoryIsUploadedAndReadAtSynchronisation) {
  Recording recording = good("managed");
  EXPECT_EQ(recording.out, "3\n6 200\n");
  EXPECT_EQ(steps(recording.plan), "alloc upload launch sync read upload launch sync read");
  auto uploads = all<UploadStep>(recording.plan);
  EXPECT_EQ(uploads[0].to, Region::linear({0, 0}, 4096));
  EXPECT_EQ(uploads[1].to, Region::linear({0, 16}, 16)); // around x[6] alone
  auto reads = all<ReadStep>(recording.plan);
  EXPECT_TRUE(reads[0].implicit);
  EXPECT_EQ(reads[1].observable, 4096u);
  EXPECT_EQ(values<float>(recording, observablesFileName).at(1024 + 6), 200);
}

TEST_F(Recorder, PinnedMemoryEntersThePlanWhenAKernelUsesIt) {
  Recording recording = good("pinned");
  EXPECT_EQ(recording.out, "6 3\n");
  EXPECT_EQ(steps(recording.plan), "alloc upload alloc upload launch sync read read free");
  EXPECT_EQ(recording.plan.buffers.at(1).kind, BufferKind::Pinned);
}

TEST_F(Recorder, PitchedCopiesKeepTheirShape) {
  Recording recording = good("pitched");
  EXPECT_EQ(recording.out, "hhhhhhhdd------- hhhhhhhdd-------\n");
  EXPECT_EQ(all<UploadStep>(recording.plan).at(0).to, (Region{{0, 0}, 7, 3, 32}));
  EXPECT_EQ(all<ReadStep>(recording.plan).at(0).from, (Region{{0, 0}, 9, 3, 32}));
  EXPECT_EQ(all<FillStep>(recording.plan).at(0).value, 'd');
  EXPECT_EQ(observableBytes(recording.plan), 27u);
}

TEST_F(Recorder, StreamsAndEventsAreSteps) {
  Recording recording = good("streams");
  EXPECT_EQ(steps(recording.plan), "alloc upload event launch event sync read sync");
  EXPECT_EQ(recording.out.substr(0, 2), "1 ");
  EXPECT_EQ(good("streams").out, recording.out); // the clock is simulated
  ASSERT_EQ(recording.plan.streams.size(), 1u);
  EXPECT_TRUE(recording.plan.streams[0].nonBlocking);
  EXPECT_EQ(all<LaunchStep>(recording.plan).at(0).stream, 1u);
}

TEST_F(Recorder, PointersInMemoryKeepTheirMeaning) {
  EXPECT_EQ(good("memory-pointers").out, "42\n");
}

TEST_F(Recorder, CallsReturnCudasErrors) {
  Recording recording = good("errors");
  EXPECT_EQ(recording.out, "too many threads: cudaErrorInvalidConfiguration\n"
                           "last: cudaErrorInvalidConfiguration\n"
                           "then: cudaSuccess\n"
                           "too much shared: cudaErrorInvalidValue\n"
                           "peek: cudaErrorInvalidValue\n"
                           "beyond the end: cudaErrorInvalidValue\n"
                           "host pointer: cudaErrorInvalidValue\n"
                           "freed by half: cudaErrorInvalidValue\n"
                           "unknown stream: cudaErrorInvalidResourceHandle\n"
                           "unknown kernel: cudaErrorInvalidDeviceFunction\n"
                           "huge: cudaErrorMemoryAllocation\n"
                           "nothing: cudaSuccess\n");
  auto errors = all<ErrorStep>(recording.plan);
  ASSERT_EQ(errors.size(), 8u);
  EXPECT_EQ(errors[0].call, "cudaLaunchKernel");
  EXPECT_EQ(errors[0].code, 9);
  EXPECT_TRUE(all<LaunchStep>(recording.plan).empty());
}

TEST_F(Recorder, AFaultyKernelBreaksTheDeviceAndIsReported) {
  Recording recording = record("fault");
  EXPECT_EQ(recording.status, RecordStatus::KernelFault);
  EXPECT_EQ(recording.out, "launch: cudaSuccess\n"
                           "synchronize: cudaErrorLaunchFailure\n"
                           "malloc: cudaErrorLaunchFailure\n"
                           "last: cudaErrorLaunchFailure\n");
  EXPECT_NE(recording.message.find("goes wrong by itself"), std::string::npos);
  EXPECT_NE(recording.message.find("trap(float*)"), std::string::npos) << recording.message;
  EXPECT_EQ(recording.plan.outcome.ending, Ending::Fault);
}

TEST_F(Recorder, PropertiesFitBothToolkits) {
  EXPECT_EQ(good("properties").out, "NVIDIA H200: 132 132 132\n");
  request.environment = {"KBRECORD_DEVICE=name=Small;multiProcessorCount=4"};
  EXPECT_EQ(good("properties").out, "Small: 4 4 4\n");
}

TEST_F(Recorder, ThreadsTakeTurns) { EXPECT_EQ(good("threads").out, "1.04858e+06\n"); }

TEST_F(Recorder, UnsupportedCallsAreNamed) {
  Recording recording = record("graph");
  EXPECT_EQ(recording.status, RecordStatus::Unsupported);
  EXPECT_EQ(recording.message,
            "program 'planTestPrograms': cudaGraphCreate is not supported by the recorder");
  EXPECT_EQ(record("cooperative").message,
            "program 'planTestPrograms': cudaLaunchCooperativeKernel of '_Z4trapPf' is not "
            "supported by the recorder: grid-wide synchronisation needs all blocks at once");
}

TEST_F(Recorder, EveryWayOutLeavesAPlan) {
  EXPECT_EQ(steps(good("exit").plan), "alloc upload launch read free");
  Recording aborted = record("abort");
  EXPECT_EQ(aborted.status, RecordStatus::ProgramFailed);
  EXPECT_EQ(aborted.plan.outcome.ending, Ending::Abort);
  EXPECT_EQ(steps(aborted.plan), "alloc upload launch read free");
  Recording crashed = record("crash");
  EXPECT_EQ(crashed.status, RecordStatus::Crashed);
  EXPECT_EQ(crashed.plan.outcome.ending, Ending::Crash);
  EXPECT_EQ(crashed.message, "program 'planTestPrograms' crashes by itself: signal 11 "
                             "(segmentation fault)");
  EXPECT_EQ(steps(crashed.plan), "alloc upload launch read free");
  Recording left = record("leave");
  EXPECT_EQ(left.message, "program 'planTestPrograms' ended without leaving a recording");
}

TEST_F(Recorder, FailuresOfTheProgramAreItsOwn) {
  Recording recording = record("fail");
  EXPECT_EQ(recording.status, RecordStatus::ProgramFailed);
  EXPECT_EQ(recording.message, "program 'planTestPrograms' fails by itself: exit status 7, after "
                               "it printed 'wrong input'");
  EXPECT_EQ(recording.note, "a workload says how to run it: program: {arguments: [\"...\"], "
                            "working-directory: DIR}");
  EXPECT_EQ(llvm::toString(recording.asError()), recording.message);
}

TEST_F(Recorder, LimitsAreKept) {
  EXPECT_EQ(record("allocate").status, RecordStatus::OutOfMemory);
  EXPECT_EQ(record("bad-alloc").status, RecordStatus::OutOfMemory);
  request.limits.fileBytes = 8;
  Recording large = record("simple");
  EXPECT_EQ(large.status, RecordStatus::OutOfMemory);
  EXPECT_NE(large.message.find("the uploaded data of the recording exceeds its limit"),
            std::string::npos);
  request.limits.wallSeconds = 0.3;
  EXPECT_EQ(record("hang").status, RecordStatus::TimedOut);
}

TEST_F(Recorder, EndsAfterTheLaunchesItMayHave) {
  request.limits.launches = 3;
  Recording recording = good("timing");
  EXPECT_EQ(recording.out, "first: 2\n");
  EXPECT_EQ(steps(recording.plan), "alloc upload launch read launch launch");
  EXPECT_EQ(recording.plan.outcome.exitStatus, 0);
}

TEST_F(Recorder, ReadsWhatTheLastLaunchLeftAfterTheLaunchesItMayHave) {
  request.limits.launches = 2;
  Recording recording = good("repeated");
  EXPECT_EQ(recording.out, "first: 2\n"); // not 1, which the loop uploads before the third launch
  EXPECT_EQ(steps(recording.plan), "alloc upload upload launch upload launch read");
  request.environment = {"CHECK_FOR_EVER=1"}; // after the read
  EXPECT_EQ(good("repeated").out, "first: 2\n");
  request.environment.clear();
  request.limits.launches = 10; // all of the loop's
  EXPECT_EQ(good("repeated").out, "first: 2\n");
  EXPECT_EQ(recording.plan.outcome.exitStatus, 0);
}

TEST_F(Recorder, LibraryProductsAreSteps) {
  Recording recording = good("product");
  // The columns of A B are (1 + 2*5, 2 + 2*6) and (3 + 5, 4 + 6).
  EXPECT_EQ(recording.out, "0: 23 29 17 21\n0: 22 28 16 20\n0: 22 28 16 20\n7: 22 28 16 20\n");
  auto products = all<MatmulStep>(recording.plan);
  ASSERT_EQ(products.size(), 3u);
  EXPECT_EQ(products[0].beta, 1);
  EXPECT_TRUE(products[1].a.transposed && products[1].b.transposed);
  EXPECT_EQ(products[2].batch, 2u);
  Recording beyond = record("product-beyond");
  EXPECT_EQ(beyond.status, RecordStatus::KernelFault);
  EXPECT_EQ(beyond.message,
            "program 'planTestPrograms' goes wrong by itself: cublasSgemm: B of 2 x 2 x 2, 1 times "
            "does not lie inside one allocation of device memory");
}

TEST_F(Recorder, EnvironmentInputAndFolderReachTheProgram) {
  request.environment = {"KB_TEST=yes"};
  request.standardInput = "from stdin ";
  request.workingDirectory = "/";
  EXPECT_EQ(good("environment").out, "yes from stdin /\n");
}

TEST_F(Recorder, OracleAnswersReadsWithoutExecuting) {
  Recording original = good("decide");
  EXPECT_EQ(original.out, "5 rounds\n");
  request.folder = folder->file("fed");
  auto fed = recordOracleFed(realProcessRunner(), request, original.folder);
  ASSERT_TRUE(static_cast<bool>(fed));
  EXPECT_EQ(fed->status, RecordStatus::Good) << fed->message;
  EXPECT_EQ(fed->out, "5 rounds\n");
  EXPECT_EQ(firstLaunchDifference(original.plan, fed->plan), std::nullopt);
  EXPECT_EQ(firstHostDifference(original.plan, fed->plan), std::nullopt);
  EXPECT_EQ(steps(fed->plan), steps(original.plan));
  // The original's are these.
  EXPECT_FALSE(realFileSystem().exists(request.folder + "/" + kbrt::observablesFileName));
}

TEST_F(Recorder, AFedProgramEndsWhenItIsQuietAfterItsLastRead) {
  Recording original = good("simple");
  request.folder = folder->file("fed");
  request.quietSeconds = 0.2;
  request.arguments = {"simple-and-sleep"};
  auto fed = recordOracleFed(realProcessRunner(), request, original.folder);
  ASSERT_TRUE(static_cast<bool>(fed));
  EXPECT_EQ(fed->status, RecordStatus::Good) << fed->message;
  EXPECT_LT(fed->wallSeconds, 40);
  EXPECT_EQ(fed->plan.outcome.message, quietEnding);
  EXPECT_EQ(steps(fed->plan), steps(original.plan));
  // One that ends by itself is not cut, and says nothing.
  request.arguments = {"simple"};
  fed = recordOracleFed(realProcessRunner(), request, original.folder);
  ASSERT_TRUE(static_cast<bool>(fed));
  EXPECT_EQ(fed->plan.outcome.message, "");
}

TEST_F(Recorder, OracleFeedsManagedMemory) {
  Recording original = good("managed");
  request.folder = folder->file("fed");
  auto fed = recordOracleFed(realProcessRunner(), request, original.folder);
  ASSERT_TRUE(static_cast<bool>(fed));
  EXPECT_EQ(fed->out, original.out) << fed->message;
  EXPECT_EQ(firstHostDifference(original.plan, fed->plan), std::nullopt);
}

TEST_F(Recorder, ReadsThatDoNotFollowTheOracleAreReported) {
  Recording original = good("simple"); // one read of 16 bytes
  request.folder = folder->file("fed");
  request.arguments = {"decide"};
  auto fed = recordOracleFed(realProcessRunner(), request, original.folder);
  ASSERT_TRUE(static_cast<bool>(fed));
  EXPECT_EQ(fed->status, RecordStatus::Mismatch);
  EXPECT_EQ(fed->message, "program 'planTestPrograms': read 5 has no answer: the original "
                          "program reads 1 times");
}

TEST_F(Recorder, WhatTheProgramItselfTellsTheKeeperIsFoundOut) {
  const std::string meddles = "program 'planTestPrograms' meddles with its recording: ";
  Recording noted = record("notes-a-step");
  EXPECT_EQ(noted.status, RecordStatus::Mismatch);
  EXPECT_EQ(noted.message, meddles + "its plan is not what it called");
  for (const char *forger : {"leaves-a-plan", "leaves-another"}) {
    Recording left = record(forger);
    EXPECT_EQ(left.status, RecordStatus::Mismatch) << forger;
    EXPECT_TRUE(llvm::StringRef(left.message).starts_with(meddles)) << left.message;
  }
  Recording original = good("simple");
  request.folder = folder->file("fed");
  request.arguments = {"takes-results"};
  auto fed = recordOracleFed(realProcessRunner(), request, original.folder);
  ASSERT_TRUE(static_cast<bool>(fed));
  EXPECT_EQ(fed->status, RecordStatus::Mismatch);
  EXPECT_EQ(fed->message,
            "program 'planTestPrograms': read 1: the original's results end too early");
}

TEST_F(Recorder, HostWritesToManagedMemoryAreSeenInEveryMode) {
  EXPECT_EQ(good("repeat").out, "1 1 1 ");
  auto run = executeProgram(realProcessRunner(), request);
  ASSERT_TRUE(static_cast<bool>(run));
  EXPECT_EQ(run->out, "1 1 1 ");
}

TEST_F(Recorder, FillsAreLeftOutOnlyWhereNothingChanged) {
  Recording recording = good("refill");
  EXPECT_EQ(recording.out, "0 0 0 0 0 ");
  EXPECT_EQ(all<FillStep>(recording.plan).size(), 6u); // the plan has them all
}

TEST_F(Recorder, ExecutionAloneRecordsNoSteps) {
  request.arguments = {"decide"};
  auto run = executeProgram(realProcessRunner(), request);
  ASSERT_TRUE(static_cast<bool>(run));
  EXPECT_EQ(run->status, RecordStatus::Good) << run->message;
  EXPECT_EQ(run->out, "5 rounds\n");
  EXPECT_TRUE(run->plan.steps.empty());
  request.arguments = {"graph"};
  run = executeProgram(realProcessRunner(), request);
  ASSERT_TRUE(static_cast<bool>(run));
  EXPECT_EQ(run->status, RecordStatus::Unsupported);
}

TEST_F(Recorder, AnImageThatCannotBeLoadedIsNamed) {
  request.image = "/nonexistent/image.so";
  Recording recording = record("simple");
  EXPECT_EQ(recording.status, RecordStatus::Unsupported);
  EXPECT_NE(recording.message.find("cannot load the CPU image '/nonexistent/image.so'"),
            std::string::npos);
}

TEST_F(Recorder, WorksInTheSandbox) {
  if (auto error = checkSandbox(realProcessRunner()))
    GTEST_SKIP() << llvm::toString(std::move(error));
  request.sandbox.emplace();
  EXPECT_EQ(good("simple").out, "2 4 6 8\n");
}

} // namespace

#endif // KBOPT_TEST_PROGRAMS
