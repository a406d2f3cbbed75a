//===- Session.cpp ----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Session.h"

#include "Branches.h"
#include "ChannelKeeper.h"
#include "DeviceFacts.h"
#include "ElementTypes.h"
#include "FileNotes.h"
#include "Settings.h"
#include "Streams.h"
#include "kbrt/CubinTable.h"
#include "kbrt/QuietEnding.h"
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace kbrt;

namespace {

constexpr int stopStatus = 99;
constexpr int caughtSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

uint64_t numberSetting(const char *name, uint64_t otherwise) {
  const std::string &text = recorderSetting(name);
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

/// The process is lost; what it recorded is not. Best effort: the plan is
/// written from a signal handler.
void onSignal(int number) {
  std::signal(number, SIG_DFL);
  Session::get().finish(number == SIGABRT ? Ending::Abort : Ending::Crash,
                        std::string("signal ") + std::to_string(number) + " (" + strsignal(number) +
                            ")");
  std::raise(number);
}

void catchSignals() {
  // A stack of its own, for stack overflows.
  constexpr size_t stackBytes = 256 << 10;
  void *memory =
      mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) {
    stack_t stack = {};
    stack.ss_sp = memory;
    stack.ss_size = stackBytes;
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int number : caughtSignals)
    sigaction(number, &action, nullptr);
}

__attribute__((constructor)) void begin() { Session::get(); }

/// Runs after the program's own exit handlers and destructors.
__attribute__((destructor)) void end() {
  DeviceLock lock; // the thread that waits for quiet may be at it
  Session::get().finish(Ending::Exit, "");
}

} // namespace

thread_local cuda::Error Session::lastError = cuda::success;

bool RegisteredMemory::add(const void *p, uint64_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(p);
  auto next = ranges.lower_bound(begin);
  if ((next != ranges.end() && next->first - begin < bytes) || contains(p))
    return false;
  ranges[begin] = bytes;
  return true;
}

bool RegisteredMemory::contains(const void *p) const {
  const auto address = reinterpret_cast<uint64_t>(p);
  auto next = ranges.upper_bound(address);
  return next != ranges.begin() && address - std::prev(next)->first < std::prev(next)->second;
}

bool Session::isPageLocked(const void *p) {
  const Allocation *allocation = allocations.find(p);
  return allocation ? allocation->kind == BufferKind::Pinned : registered.contains(p);
}

Session &Session::get() {
  static Session *session = new Session;
  return *session;
}

std::unique_ptr<Backend> Session::makeBackend() {
  BackendReports reports;
  reports.stop = [this](Ending ending, const std::string &message) { stop(ending, message); };
  reports.fault = [this](cuda::Error error, const std::string &message) { fault(error, message); };
  std::string image = recorderSetting("IMAGE");
  uint64_t limit = numberSetting("DEVICE_BYTES", 0);
  char head[sizeof(uint64_t) * 8] = {};
  if (std::FILE *file = std::fopen(image.c_str(), "rb")) {
    bool cubin = isCubin({head, std::fread(head, 1, sizeof head, file)});
    std::fclose(file);
    if (cubin && recorderSetting("MODE") != "oracle")
      return createCudaBackend(image, static_cast<unsigned>(numberSetting("DEVICE_INDEX", 0)),
                               limit ? limit : ~uint64_t{0}, reports);
    if (cubin) {
      if (limit)
        DeviceMemory::get().setLimitBytes(limit);
      return createTableBackend(image, reports);
    }
  }
  if (limit)
    DeviceMemory::get().setLimitBytes(limit);
  return createCpuBackend(image, reports);
}

Session::Session() : backend(makeBackend()), allocations(sequence, *backend) {
  sequence.fetch = [this](Rows to, Rows from, uint64_t width, uint64_t height) {
    backend->read(to, from, width, height);
  };
  sequence.stop = [this](Ending ending, const std::string &message) { stop(ending, message); };
  sequence.endOfRun = [this] { endOfRun(); };
  // Buffers begin at other addresses than usual.
  if (uint64_t skew = numberSetting("SKEW", 0))
    for (bool isHostVisible : {false, true})
      backend->allocate(skew, isHostVisible);
  std::string mode = recorderSetting("MODE");
  if (!mode.empty() && mode != "record" && mode != "oracle" && mode != "run")
    stop(Ending::Unsupported, "KBRECORD_MODE is '" + mode + "', not record, oracle or run");
  sequence.mode = mode == "record" ? Mode::Record : mode == "oracle" ? Mode::Oracle : Mode::Run;
  const std::string socket = recorderSetting("SOCKET");
  if (!socket.empty())
    sequence.keeper = connectKeeper(socket);
  sequence.replacesUploads = !recorderSetting("REPLACES").empty();
  sequence.isDry = !recorderSetting("DRY").empty();
  sequence.fileBytesLimit = numberSetting("FILE_BYTES", ~uint64_t{0});
  kernelSeconds = static_cast<double>(numberSetting("KERNEL_SECONDS", 0));
  clockPace = numberSetting("CLOCK_PACE", 1);
  launchLimit = numberSetting("LAUNCHES", 0);
  if (sequence.recording() && !sequence.keeper)
    stop(Ending::Unsupported, "cannot reach the process that keeps the recording, at '" + socket +
                                  "': " + std::strerror(errno));
  if (sequence.mode == Mode::Oracle)
    setRecordedFacts(sequence.keeper->oracleDevice());
  sequence.open();
  if (sequence.keeper)
    catchSignals();
  quietSeconds = 1e-3 * static_cast<double>(numberSetting("QUIET_MILLISECONDS", 0));
  if (sequence.mode == Mode::Oracle && quietSeconds > 0)
    sequence.allAnswered = [this] { startToEndWhenQuiet(); };
  if (sequence.mode == Mode::Record && numberSetting("DRAFTS", 0))
    sequence.hasRead = [this] { startToDraftWhenQuiet(); };
  // What comes after the last read that counts is often a reference on the host, which takes long.
  sequence.readPastCut = [this] { startToEndWhenQuiet(); };
}

void Session::startToEndWhenQuiet() {
  constexpr double quietPastCut = 1; // seconds
  if (std::exchange(waitsForQuiet, true))
    return;
  if (quietSeconds <= 0)
    quietSeconds = quietPastCut;
  std::thread([this] { endWhenQuiet(); }).detach();
}

void Session::endWhenQuiet() {
  for (uint64_t seen = calls + 1; seen != calls;) {
    seen = calls;
    std::this_thread::sleep_for(std::chrono::duration<double>(quietSeconds));
  }
  DeviceLock lock; // a call that has begun comes to its end
  if (finished)    // the program ends by itself
    return;
  std::fflush(nullptr);
  finish(Ending::Exit, sequence.mode == Mode::Oracle ? quietEnding : "");
  _exit(0);
}

void Session::startToDraftWhenQuiet() {
  if (!std::exchange(waitsToDraft, true))
    std::thread([this] { draftWhenQuiet(); }).detach();
}

void Session::draftWhenQuiet() {
  constexpr std::chrono::milliseconds quiet{250};
  for (uint64_t seen = calls + 1; seen != calls;) {
    seen = calls;
    std::this_thread::sleep_for(quiet);
  }
  DeviceLock lock;
  if (finished || !sequence.recording())
    return;
  Plan draft = sequence.plan;
  if (hasImage)
    inferElementTypes(draft, *backend, variables);
  draft.outcome.ending = Ending::Exit;
  sequence.keeper->draft(planToJson(draft));
}

void Session::addFunction(uint32_t stream, std::function<void()> function) {
  sequence.order.enqueue(stream);
  sequence.order.addFunction(std::move(function));
  startToCatchUpWhenQuiet();
}

void Session::startToCatchUpWhenQuiet() {
  if (!std::exchange(catchesUp, true))
    std::thread([this] { catchUpWhenQuiet(); }).detach();
}

void Session::makeDueBefore(uint32_t stream) {
  if (!sequence.order.hasFunctions())
    return;
  sequence.order.makeDueBefore(stream);
  runDue();
}

void Session::runDue() {
  for (;;) {
    std::optional<PendingWork> function;
    {
      DeviceLock lock;
      if (!sequence.order.hasDue())
        return;
      function = sequence.order.takeFunction();
      if (function)
        allocations.hostMayLook(*function->moment.stream);
    }
    if (function)
      function->happens();
  }
}

void Session::waitForFunctions() {
  while (functionsOfThread)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Session::catchUpWhenQuiet() {
  constexpr std::chrono::milliseconds quiet{100};
  for (uint64_t seen = 0;;) {
    std::this_thread::sleep_for(quiet);
    if (std::exchange(seen, calls) != calls)
      continue;
    {
      DeviceLock lock;
      if (finished)
        return;
      allocations.showAll();
      if (!sequence.order.hasFunctions())
        continue;
      ++functionsOfThread;
      sequence.order.makeAllDue();
    }
    runDue();
    --functionsOfThread;
  }
}

void Session::loadImage() {
  if (hasImage)
    return;
  hasImage = true;
  variables = backend->variables();
  for (const DeviceVariable &variable : variables)
    allocations.addSymbol(variable);
}

void Session::countLaunch() {
  // So many launches without a read are a loop that waits for something else.
  constexpr uint64_t mostSkipped = 10000;
  if (!launchLimit || launches++ < launchLimit)
    return;
  sequence.isPastCut = true;
  held.clear();
  if (!sequence.hasUnreadLaunch || launches - launchLimit > mostSkipped)
    endOfRun();
}

bool Session::holdBack(const void *target, std::function<void()> change) {
  if (sequence.isPastCut)
    return true;
  if (!launchLimit || launches < launchLimit || !sequence.hasUnreadLaunch)
    return false;
  if (const Allocation *written = allocations.find(target); written && written->hostVisible)
    return false; // the host may look at it without a call
  held.push_back(std::move(change));
  return true;
}

void Session::makeHeldChanges() {
  std::vector<std::function<void()>> changes = std::move(held);
  held.clear();
  const bool hadUnread = std::exchange(sequence.hasUnreadLaunch, false); // nothing is held back now
  for (auto &change : changes)
    change();
  sequence.hasUnreadLaunch = hadUnread;
}

void Session::endOfRun() {
  std::fflush(nullptr);
  finish(Ending::Exit, "");
  _exit(0);
}

cuda::Error Session::note(const char *call, cuda::Error error) {
  if (error == cuda::success || error == cuda::notReady)
    return error;
  lastError = error;
  sequence.add(ErrorStep{call, error, cuda::errorName(error), std::exchange(failedLaunch, "")});
  return error;
}

void Session::fault(cuda::Error error, const std::string &message) {
  stickyError = lastError = error;
  Outcome &outcome = sequence.plan.outcome;
  if (outcome.ending == Ending::Running) {
    outcome.ending = Ending::Fault;
    outcome.message = message;
  }
  std::fprintf(stderr, "kbrecord: error: %s\n", message.c_str());
}

void Session::stop(Ending ending, const std::string &message) {
  std::fflush(nullptr);
  std::fprintf(stderr, "kbrecord: error: %s\n", message.c_str());
  finish(ending, message);
  _exit(stopStatus);
}

void Session::finish(Ending ending, const std::string &message) {
  if (finished || !sequence.keeper)
    return;
  finished = true;
  Plan &plan = sequence.plan;
  // A fault was noted earlier and explains what came after it.
  if (plan.outcome.ending == Ending::Running) {
    plan.outcome.ending = ending;
    plan.outcome.message = message;
  }
  plan.outcome.taken = takenBranches();
  plan.outcome.held = allocations.held();
  for (HeldObjects &held : Streams::get().held())
    plan.outcome.held.push_back(std::move(held));
  if (hasImage)
    inferElementTypes(plan, *backend, variables);
  if (std::string facts = factsOfGpu(); sequence.mode == Mode::Record && !facts.empty())
    sequence.keeper->keepDevice(facts);
  if (sequence.mode == Mode::Record && plan.outcome.ending == Ending::Exit) {
    const FileNotes notes = fileNotes();
    for (const std::string &path : notes.paths)
      sequence.keeper->noteFile(path);
    if (!notes.isComplete)
      sequence.keeper->noteFile("");
  }
  if (!sequence.keeper->finish(planToJson(plan)))
    std::fprintf(stderr, "kbrecord: error: cannot leave the recording: %s\n", std::strerror(errno));
}
