#include "kb-opt/Support/Process.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Interrupt.h"
#include "gtest/gtest.h"
#include <csignal>
#include <cstdlib>

using namespace kbopt;

static ProcessResult runShell(const std::string &script, double wallSeconds = 20) {
  ProcessRequest request;
  request.argv = {"sh", "-c", script};
  request.wallSeconds = wallSeconds;
  auto result = realProcessRunner().run(request);
  EXPECT_TRUE(static_cast<bool>(result));
  return *result;
}

TEST(Process, CapturesOutputsAndStatus) {
  ProcessResult result = runShell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exitStatus, 3);
  EXPECT_EQ(result.describe(), "exit status 3");
}

TEST(Process, FeedsStandardInputOfAnySize) {
  ProcessRequest request;
  request.argv = {"wc", "-c"};
  request.standardInput.assign(1 << 20, 'x');
  auto result = realProcessRunner().run(request);
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(std::stoi(result->out), 1 << 20);
}

TEST(Process, KillsTheWholeGroupAtTheWallLimit) {
  ProcessResult result = runShell("sleep 100 & sleep 100", 0.2);
  EXPECT_TRUE(result.timedOut);
  EXPECT_LT(result.wallSeconds, 10);
}

TEST(Process, KillsAChildThatClosedItsOutputs) {
  ProcessResult result = runShell("exec >/dev/null 2>&1; sleep 100", 0.2);
  EXPECT_TRUE(result.timedOut);
  EXPECT_LT(result.wallSeconds, 10);
}

/// Runs in a process of its own: an interrupt is for good.
static void interruptAChild() {
  installInterruptHandler();
  ProcessRequest request;
  // The child tells this process to stop while it runs, and again before the next.
  request.argv = {"sh", "-c", "kill -TERM $PPID; exec sleep 100"};
  for (int round = 0; round != 2; ++round) {
    auto result = realProcessRunner().run(request);
    if (result)
      _exit(1);
    bool blamesNobody = false;
    llvm::handleAllErrors(result.takeError(), [&](const KbError &error) {
      blamesNobody = error.status == ExitStatus::Budget;
    });
    if (!blamesNobody)
      _exit(2);
  }
  _exit(interrupted() && !dropInterruptions(interruption()) ? 0 : 3);
}

TEST(ProcessDeathTest, AnInterruptedChildHasNoResult) {
  EXPECT_EXIT(interruptAChild(), testing::ExitedWithCode(0), "");
}

TEST(Process, NamesTheSignal) {
  ProcessResult result = runShell("kill -SEGV $$");
  EXPECT_EQ(result.signal, 11);
  EXPECT_EQ(result.describe(), "signal 11 (segmentation fault)");
}

TEST(Process, DropsOutputBeyondItsLimit) {
  ProcessRequest request;
  request.argv = {"sh", "-c", "yes | head -c 1000000"};
  request.outputBytes = 1000;
  auto result = realProcessRunner().run(request);
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result->out.size(), 1000u);
}

TEST(Process, ReplacesEnvironmentEntries) {
  ProcessRequest request;
  request.argv = {"sh", "-c", "echo $HOME"};
  request.environment = {"HOME=/nowhere"};
  auto result = realProcessRunner().run(request);
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result->out, "/nowhere\n");
}

TEST(Process, AMissingProgramIsAToolError) {
  ProcessRequest request;
  request.argv = {"no-such-program-anywhere"};
  auto result = realProcessRunner().run(request);
  ASSERT_FALSE(static_cast<bool>(result));
  std::string text;
  llvm::raw_string_ostream os(text);
  EXPECT_EQ(reportError(os, "kb-opt", result.takeError()), ExitStatus::Environment);
  EXPECT_EQ(text,
            "kb-opt: error: cannot start 'no-such-program-anywhere': no such program in PATH\n");
}

TEST(Sandbox, ShowsCompilersEveryFileAndLetsThemWriteTheirOutput) {
  if (llvm::Error error = checkSandbox(realProcessRunner())) {
    GTEST_SKIP() << llvm::toString(std::move(error));
  }
  auto inputs = llvm::cantFail(TemporaryDirectory::create("kb-test"));
  auto outputs = llvm::cantFail(TemporaryDirectory::create("kb-test"));
  llvm::cantFail(realFileSystem().write(inputs.file("header.h"), "text"));
  ProcessRequest request;
  request.argv = {"sh", "-c", "cat header.h; echo x > \"$0/out\"; echo x > other",
                  outputs.path().str()};
  request.workingDirectory = inputs.path().str();
  request.sandbox = Sandbox{{}, {outputs.path().str()}, /*seesAllFiles=*/true};
  auto result = llvm::cantFail(realProcessRunner().run(request));
  EXPECT_EQ(result.out, "text");
  EXPECT_FALSE(result.succeeded());
  EXPECT_TRUE(realFileSystem().exists(outputs.file("out")));
  EXPECT_FALSE(realFileSystem().exists(inputs.file("other")));
}

TEST(Sandbox, HasNoNetworkAndAPrivateTmp) {
  if (llvm::Error error = checkSandbox(realProcessRunner())) {
    GTEST_SKIP() << llvm::toString(std::move(error));
  }
  auto outside = TemporaryDirectory::create("kbopt-sandbox");
  ASSERT_TRUE(static_cast<bool>(outside));
  ProcessRequest request;
  request.argv = {"sh", "-c",
                  "ls " + llvm::sys::path::parent_path(outside->path()).str() +
                      " | wc -l; wc -l < /proc/net/route; touch " + outside->file("in") +
                      "; touch /usr/denied 2>/dev/null || echo read-only"};
  request.sandbox = Sandbox{{}, {outside->path().str()}};
  auto result = realProcessRunner().run(request);
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result->out, "1\n1\nread-only\n") << result->err;
  EXPECT_TRUE(realFileSystem().exists(outside->file("in")));
}

TEST(Sandbox, ShowsNoKeys) {
  if (llvm::Error error = checkSandbox(realProcessRunner())) {
    GTEST_SKIP() << llvm::toString(std::move(error));
  }
  auto configuration = llvm::cantFail(TemporaryDirectory::create("kbopt-keys"));
  llvm::cantFail(realFileSystem().createDirectories(configuration.file("kb-opt")));
  llvm::cantFail(realFileSystem().write(configuration.file("kb-opt/keys"), "host secret-1\n"));
  ::setenv("XDG_CONFIG_HOME", configuration.path().str().c_str(), 1);
  ::setenv("SOME_API_KEY", "secret-2", 1);
  ProcessRequest request;
  request.argv = {"sh", "-c", "env; cat \"$XDG_CONFIG_HOME/kb-opt/keys\"; echo end"};
  for (bool seesAllFiles : {true, false}) {
    request.sandbox = Sandbox{{}, {}, seesAllFiles};
    auto result = llvm::cantFail(realProcessRunner().run(request));
    EXPECT_EQ(result.out.find("secret"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("\nend\n"), std::string::npos) << result.err;
  }
  request.sandbox.reset();
  EXPECT_NE(llvm::cantFail(realProcessRunner().run(request)).out.find("secret-2"),
            std::string::npos)
      << "a command that asks a model gets the user's";
  ::unsetenv("XDG_CONFIG_HOME");
  ::unsetenv("SOME_API_KEY");
}

TEST(Sandbox, NamesTheSignal) {
  if (llvm::Error error = checkSandbox(realProcessRunner())) {
    GTEST_SKIP() << llvm::toString(std::move(error));
  }
  ProcessRequest request;
  request.argv = {"sh", "-c", "kill -SEGV $$"};
  request.sandbox = Sandbox();
  auto result = realProcessRunner().run(request);
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result->describe(), "signal 11 (segmentation fault)");
}
