//===- KeptRecordingTest.cpp - Recordings that an earlier run left ---------===//
#include "kb-opt/Plan/KeptRecording.h"
#include "kb-opt/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <chrono>
#include <cstdlib>
#include <sys/stat.h>
#include <thread>

#ifdef KBOPT_TEST_PROGRAMS

using namespace kbopt;

namespace {

struct CountingRunner : ProcessRunner {
  unsigned runs = 0;
  llvm::Expected<ProcessResult> run(const ProcessRequest &request) override {
    ++runs;
    return realProcessRunner().run(request);
  }
};

struct KeptRecordingTest : testing::Test {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("kept-recording"));
  CountingRunner runner;
  FileDigests digests;
  std::string machine = "a GPU, driver 1";
  unsigned folders = 0;

  /// As another process of kb-opt would record \p program.
  Recording record(const char *program, const std::function<void(RecordRequest &)> &change = {}) {
    RecordRequest request;
    request.executable = KBOPT_TEST_PROGRAMS;
    request.image = KBOPT_TEST_IMAGE;
    request.folder = folder.file("recording" + std::to_string(++folders));
    request.arguments = {program};
    request.limits.wallSeconds = 60;
    request.workingDirectory = folder.path().str();
    if (change)
      change(request);
    CompileCache kept(CompileCache::Options{folder.file("kept"), uint64_t(1) << 30});
    auto recording = recordOrReuse(runner, request, &kept, digests, machine);
    if (recording)
      return std::move(*recording);
    ADD_FAILURE() << llvm::toString(recording.takeError());
    return {};
  }
  /// How often the program runs when it is recorded so.
  unsigned runsFor(const char *program, const std::function<void(RecordRequest &)> &change = {}) {
    runner.runs = 0;
    record(program, change);
    return runner.runs;
  }
  static uint64_t fileNumber(const Recording &recording, const char *name) {
    struct stat status = {};
    return ::stat((recording.folder + "/" + name).c_str(), &status) ? 0 : status.st_ino;
  }
};

TEST_F(KeptRecordingTest, IsWhatTheRunLeft) {
  Recording first = record("simple"), again = record("simple");
  EXPECT_EQ(runner.runs, 1u);
  EXPECT_NE(again.folder, first.folder);
  EXPECT_EQ(kbrt::planToJson(again.plan), kbrt::planToJson(first.plan));
  EXPECT_EQ(again.out, first.out);
  EXPECT_EQ(again.err, first.err);
  EXPECT_EQ(again.exitStatus, 0);
  EXPECT_NEAR(again.wallSeconds, first.wallSeconds, 1e-5);
  EXPECT_EQ(again.peakMemoryBytes, first.peakMemoryBytes);
  EXPECT_EQ(llvm::cantFail(again.observables()), llvm::cantFail(first.observables()));
  for (const char *name : {kbrt::dataFileName, kbrt::observablesFileName})
    EXPECT_EQ(fileNumber(again, name), fileNumber(first, name)) << name;
  // It feeds a candidate's host as the first would.
  RecordRequest fed;
  fed.executable = KBOPT_TEST_PROGRAMS;
  fed.image = KBOPT_TEST_IMAGE;
  fed.arguments = {"simple"};
  fed.folder = folder.file("fed");
  Recording followed = llvm::cantFail(recordOracleFed(runner, fed, again.folder));
  EXPECT_EQ(followed.out, first.out);
}

TEST_F(KeptRecordingTest, HoldsForTheSameRunOnly) {
  record("simple");
  EXPECT_EQ(runsFor("simple"), 0u);
  EXPECT_EQ(runsFor("simple", [](RecordRequest &r) { r.environment = {"A=1"}; }), 1u);
  EXPECT_EQ(runsFor("simple", [](RecordRequest &r) { r.environment = {"A=2"}; }), 1u);
  EXPECT_EQ(runsFor("simple", [](RecordRequest &r) { r.environment = {"A=1"}; }), 0u);
  EXPECT_EQ(runsFor("simple", [](RecordRequest &r) { r.standardInput = "x"; }), 1u);
  EXPECT_EQ(runsFor("simple", [](RecordRequest &r) { r.limits.launches = 7; }), 1u);
  EXPECT_EQ(runsFor("simple", [](RecordRequest &r) { r.limits.wallSeconds = 30; }), 0u);
  EXPECT_EQ(runsFor("simple", [](RecordRequest &r) { r.workingDirectory = "/"; }), 1u);
  EXPECT_EQ(runsFor("simple", [](RecordRequest &r) { r.arguments.push_back("x"); }), 1u);
  machine = "a GPU, driver 2";
  EXPECT_EQ(runsFor("simple"), 1u);
  ::setenv("KB_TEST_KEPT", "1", 1);
  EXPECT_EQ(runsFor("simple"), 1u);
  ::unsetenv("KB_TEST_KEPT");
  ::setenv("SHLVL", "17", 1); // of the shell, and of nothing that is computed
  EXPECT_EQ(runsFor("simple"), 0u);
}

TEST_F(KeptRecordingTest, AnotherExecutableOrImageIsAnotherRun) {
  auto copyOf = [&](const std::string &path, const char *name) {
    const std::string copy = folder.file(name);
    llvm::cantFail(realFileSystem().write(copy, llvm::cantFail(realFileSystem().read(path))));
    ::chmod(copy.c_str(), 0755);
    return copy;
  };
  record("simple");
  const std::string same = copyOf(KBOPT_TEST_IMAGE, "same"),
                    other = copyOf(KBOPT_TEST_IMAGE, "other");
  llvm::cantFail(realFileSystem().appendLine(other, "changed"));
  EXPECT_EQ(runsFor("simple", [&](RecordRequest &r) { r.image = same; }), 0u) << "by content";
  EXPECT_EQ(runsFor("simple", [&](RecordRequest &r) { r.image = other; }), 1u);
  const std::string program = copyOf(KBOPT_TEST_PROGRAMS, "program");
  llvm::cantFail(realFileSystem().appendLine(program, "changed"));
  EXPECT_EQ(runsFor("simple", [&](RecordRequest &r) { r.executable = program; }), 1u);
}

TEST_F(KeptRecordingTest, AChangedInputIsReadAgain) {
  auto write = [&](const char *text) {
    llvm::cantFail(realFileSystem().write(folder.file("stream.txt"), text));
    std::this_thread::sleep_for(std::chrono::milliseconds(40)); // older than the run
  };
  write("one");
  EXPECT_EQ(record("looking").out, "one\n2 4 6 8\n");
  EXPECT_EQ(runsFor("looking"), 0u);
  write("two"); // of the same size
  EXPECT_EQ(record("looking").out, "two\n2 4 6 8\n");
  // What it looked for and did not find.
  llvm::cantFail(realFileSystem().createDirectories(folder.file("folder")));
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  EXPECT_EQ(runsFor("looking"), 1u);
  EXPECT_EQ(runsFor("looking"), 0u);
  llvm::cantFail(realFileSystem().write(folder.file("folder/new"), ""));
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  EXPECT_EQ(runsFor("looking"), 1u);
}

TEST_F(KeptRecordingTest, NeitherFailuresNorUnknownInputsAreKept) {
  for (const char *program : {"fault", "starting"})
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(runsFor(program), 1u) << program;
}

} // namespace

#endif
