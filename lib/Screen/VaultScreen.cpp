//===- VaultScreen.cpp - Screening by a kb-run hold -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Screen/VaultScreen.h"
#include "ScreenJson.h"
#include "kb-opt/Support/ChildProcess.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace llvm;

namespace kbopt {
namespace {

/// kb-run ends candidates by itself, long before that. Waiting for other programs' turns counts.
constexpr double longestAnswerSeconds = 600;
/// A candidate during which so many processes died is answered.
constexpr unsigned mostAttempts = 2;

/// A thread that does one thing after the other: a sandbox dies with the thread that made it.
class OwnThread {
public:
  OwnThread() : thread([this] { work(); }) {}
  ~OwnThread() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      ends = true;
    }
    changed.notify_all();
    thread.join();
  }
  /// Returns when it is done. Callers wait for each other.
  void run(function_ref<void()> task) {
    std::lock_guard<std::mutex> mine(turn);
    std::unique_lock<std::mutex> lock(mutex);
    waiting = &task;
    changed.notify_all();
    changed.wait(lock, [&] { return !waiting; });
  }

private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return ends || waiting; });
      if (!waiting)
        return;
      lock.unlock();
      (*waiting)();
      lock.lock();
      waiting = nullptr;
      changed.notify_all();
    }
  }

  std::mutex turn, mutex;
  std::condition_variable changed;
  function_ref<void()> *waiting = nullptr;
  bool ends = false;
  std::thread thread; ///< last: it uses all the others
};

class VaultScreen : public ScreenDevice {
public:
  explicit VaultScreen(VaultScreenOptions given) : options(std::move(given)) {
    // The reason for not starting is reported when a program is opened.
    thread.run([&] { consumeError(start()); });
  }
  ~VaultScreen() override {
    thread.run([&] { vault.reset(); });
    (void)sys::fs::remove_directories(options.process.directory + "/original");
  }

  Expected<ScreenReport> open(const ScreenSubject &original, const ScreenRequest &request) override;
  Expected<ScreenReport> screen(const ScreenSubject &candidate,
                                const ScreenRequest &request) override;

private:
  Error start();
  Expected<ScreenSubject> stage(const ScreenSubject &subject, const std::string &folder);
  /// The answer, or nothing with \p why if the process is gone.
  Expected<std::optional<ScreenReport>> ask(StringRef op, const ScreenSubject &subject,
                                            const ScreenRequest &request, std::string &why);
  Expected<std::optional<ScreenReport>> openAgain(std::string &why);
  Expected<ScreenReport> screenNow(const ScreenSubject &candidate, const ScreenRequest &request);

  VaultScreenOptions options;
  std::unique_ptr<ChildProcess> vault; ///< the thread's alone, like all that follows
  std::vector<std::string> command;
  ScreenSubject original; ///< staged
  ScreenRequest opening;
  bool isOpen = false;
  unsigned jobs = 0;
  OwnThread thread;
};

Error VaultScreen::start() {
  ProcessRequest request = kbRunRequest(options.process, {"hold"});
  request.purpose = "kb-run hold";
  command = {options.process.kbRun, "hold"};
  Expected<std::unique_ptr<ChildProcess>> started = ChildProcess::start(request);
  if (!started)
    return started.takeError();
  vault = std::move(*started);
  return Error::success();
}

/// Files of \p subject below \p folder, which the process sees; links cost nothing.
Expected<ScreenSubject> VaultScreen::stage(const ScreenSubject &subject,
                                           const std::string &folder) {
  ScreenSubject staged;
  if (Error error = realFileSystem().createDirectories(folder))
    return std::move(error);
  staged.cubinPath = folder + "/image";
  if (Error error = linkOrCopy(subject.cubinPath, staged.cubinPath))
    return std::move(error);
  for (const std::string &plan : subject.planFolders) {
    staged.planFolders.push_back(folder + "/plan" + std::to_string(staged.planFolders.size()));
    if (Error error = realFileSystem().createDirectories(staged.planFolders.back()))
      return std::move(error);
    for (StringRef name : {kbrt::planFileName, kbrt::dataFileName})
      if (std::string from = (plan + "/" + name).str();
          name != kbrt::dataFileName || sys::fs::exists(from))
        if (Error error = linkOrCopy(from, (staged.planFolders.back() + "/" + name).str()))
          return std::move(error);
  }
  return staged;
}

Expected<std::optional<ScreenReport>> VaultScreen::ask(StringRef op, const ScreenSubject &subject,
                                                       const ScreenRequest &request,
                                                       std::string &why) {
  if (interrupted())
    return interruption();
  if (!vault)
    if (Error error = start())
      return std::move(error);
  std::string text;
  TimedPart timed(options.timings, "jobs of the GPU", op.str());
  ChildProcess::Reply reply =
      vault->ask(screenJob(op, options.program, subject, request), longestAnswerSeconds,
                 options.process.mostResultBytes, text);
  if (reply == ChildProcess::Reply::Line) {
    Expected<ScreenReport> report = readScreenReport(text, op, options.timings);
    if (report)
      return std::optional<ScreenReport>(std::move(*report));
    // What the machine refuses now it may give to another process later.
    vault.reset();
    isOpen = false;
    return report.takeError();
  }
  ProcessResult ended = vault->ending();
  vault.reset();
  isOpen = false;
  if (reply == ChildProcess::Reply::Interrupted)
    return interruption();
  why = reply == ChildProcess::Reply::Late
            ? formatv("gave no answer within {0:f0} s", longestAnswerSeconds).str()
        : reply == ChildProcess::Reply::TooLong ? "answered with too much"
                                                : "ended with " + ended.describe();
  if (std::string tail = ended.errorTail(3); !tail.empty())
    why += ": " + tail;
  // A process that cannot even start is the machine's fault.
  if (ended.exitStatus == 127 ||
      (options.process.sandboxed && StringRef(ended.err).contains("bwrap:")))
    return make_error<ToolError>("kb-run does not start", command, ended.exitStatus,
                                 ended.errorTail(),
                                 "try it by itself: " + options.process.kbRun + " devices");
  if (options.process.notice)
    options.process.notice("kb-run " + why + "; it is started again");
  return std::optional<ScreenReport>();
}

Expected<ScreenReport> VaultScreen::open(const ScreenSubject &subject,
                                         const ScreenRequest &request) {
  Expected<ScreenReport> result = ScreenReport();
  (void)!!result;
  thread.run([&] {
    Expected<ScreenSubject> staged = stage(subject, options.process.directory + "/original");
    if (!staged) {
      result = staged.takeError();
      return;
    }
    original = std::move(*staged);
    opening = request;
    std::string why;
    Expected<std::optional<ScreenReport>> report = ask("open", original, request, why);
    if (!report)
      result = report.takeError();
    else if (!*report)
      result = make_error<ToolError>("kb-run " + why, command, -1, "",
                                     "try it by itself: " + options.process.kbRun + " devices");
    else
      result = std::move(**report);
    isOpen = result && result->status == RunStatus::Ok;
  });
  return result;
}

Expected<std::optional<ScreenReport>> VaultScreen::openAgain(std::string &why) {
  ScreenRequest request = opening;
  request.isTimed = false;
  Expected<std::optional<ScreenReport>> report = ask("open", original, request, why);
  if (!report)
    return report.takeError();
  isOpen = *report && (*report)->status == RunStatus::Ok;
  if (*report && !isOpen)
    return make_error<ToolError>("the original does not run any more: " + (*report)->message,
                                 command, -1, "");
  return std::move(*report);
}

Expected<ScreenReport> VaultScreen::screenNow(const ScreenSubject &candidate,
                                              const ScreenRequest &request) {
  std::string why;
  for (unsigned attempt = 1; attempt <= mostAttempts; ++attempt) {
    if (!isOpen) {
      Expected<std::optional<ScreenReport>> opened = openAgain(why);
      if (!opened)
        return opened.takeError();
      if (!*opened)
        continue;
    }
    Expected<std::optional<ScreenReport>> report = ask("screen", candidate, request, why);
    if (!report)
      return report.takeError();
    if (*report)
      return std::move(**report);
  }
  ScreenReport report;
  report.status = RunStatus::Lost;
  report.message = "kb-run " + why;
  return report;
}

Expected<ScreenReport> VaultScreen::screen(const ScreenSubject &candidate,
                                           const ScreenRequest &request) {
  Expected<ScreenReport> result = ScreenReport();
  (void)!!result;
  thread.run([&] {
    const std::string folder = options.process.directory + "/candidate" + std::to_string(jobs++);
    Expected<ScreenSubject> staged = stage(candidate, folder);
    if (staged)
      result = screenNow(*staged, request);
    else
      result = staged.takeError();
    (void)sys::fs::remove_directories(folder);
  });
  return result;
}

} // namespace

Expected<std::unique_ptr<ScreenDevice>> createVaultScreen(VaultScreenOptions options) {
  if (Error error = findKbRunFor(options.process))
    return std::move(error);
  return std::make_unique<VaultScreen>(std::move(options));
}

} // namespace kbopt
