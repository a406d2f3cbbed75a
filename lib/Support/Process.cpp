//===- Process.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Process.h"
#include "Spawn.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Installation.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kbopt;

ProcessRunner::~ProcessRunner() = default;

std::string ProcessResult::describe() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (timedOut)
    os << llvm::format("no end within %.0f s", wallSeconds);
  else if (signal)
    os << "signal " << signal << " (" << llvm::StringRef(strsignal(signal)).lower() << ")";
  else
    os << "exit status " << exitStatus;
  return text;
}

std::string ProcessResult::errorTail(unsigned lines) const {
  llvm::SmallVector<llvm::StringRef> all;
  llvm::StringRef(err).rtrim().split(all, '\n');
  if (all.size() > lines)
    all.erase(all.begin(), all.end() - lines);
  return llvm::join(all, "\n");
}

std::optional<std::string> kbopt::findProgram(llvm::StringRef program) {
  if (auto found = llvm::sys::findProgramByName(program))
    return *found;
  return findBeside(program);
}

namespace {

class RealProcessRunner : public ProcessRunner {
public:
  llvm::Expected<ProcessResult> run(const ProcessRequest &request) override;
};

} // namespace

static void feed(int &end, llvm::StringRef &rest) {
  ssize_t put = rest.empty() ? 0 : ::write(end, rest.data(), rest.size());
  if (put < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  if (put > 0)
    rest = rest.drop_front(put);
  if (put < 0 || rest.empty())
    Pipe::shut(end);
}

/// Moves bytes until both outputs are closed, or the time is up.
static bool converse(const ProcessRequest &request, SpawnedChild &child, ProcessResult &result,
                     double startSeconds) {
  llvm::StringRef rest = request.standardInput;
  ::fcntl(child.in.writeEnd, F_SETFL, O_NONBLOCK);
  while (child.out.readEnd >= 0 || child.err.readEnd >= 0) {
    double elapsed = realClock().monotonicSeconds() - startSeconds;
    if (interrupted() || (request.wallSeconds > 0 && elapsed >= request.wallSeconds))
      return false;
    struct pollfd polled[3] = {{child.out.readEnd, POLLIN, 0},
                               {child.err.readEnd, POLLIN, 0},
                               {child.in.writeEnd, POLLOUT, 0}};
    if (::poll(polled, 3, /*milliseconds=*/50) < 0)
      continue;
    if (polled[0].revents)
      drain(child.out.readEnd, result.out, request.outputBytes);
    if (polled[1].revents)
      drain(child.err.readEnd, result.err, request.outputBytes);
    if (child.in.writeEnd >= 0 && polled[2].revents)
      feed(child.in.writeEnd, rest);
  }
  return true;
}

/// Waits for the child, which may live on after it closed its outputs; kills it
/// when its time is up. Returns whether it ended by itself.
static bool reap(const ProcessRequest &request, pid_t pid, bool mayEnd, double startSeconds,
                 int &status, struct rusage &usage) {
  while (mayEnd) {
    pid_t got = ::wait4(pid, &status, WNOHANG, &usage);
    if (got == pid)
      return true;
    double elapsed = realClock().monotonicSeconds() - startSeconds;
    mayEnd = !interrupted() && (request.wallSeconds <= 0 || elapsed < request.wallSeconds);
    ::usleep(1000);
  }
  ::kill(-pid, SIGKILL);
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  return false;
}

llvm::Expected<ProcessResult> RealProcessRunner::run(const ProcessRequest &request) {
  if (interrupted())
    return interruption();
  double startSeconds = realClock().monotonicSeconds();
  SpawnedChild child;
  if (llvm::Error error = spawn(request, child))
    return std::move(error);
  ProcessResult result;
  bool ended = converse(request, child, result, startSeconds);
  int status = 0;
  struct rusage usage = {};
  ended = reap(request, child.pid, ended, startSeconds, status, usage);
  ::kill(-child.pid, SIGKILL); // background processes it left behind
  if (!ended && interrupted())
    return interruption();
  result.timedOut = !ended;
  result.wallSeconds = realClock().monotonicSeconds() - startSeconds;
  result.peakMemoryBytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  readWaitStatus(request, status, result);
  return result;
}

ProcessRunner &kbopt::realProcessRunner() {
  static RealProcessRunner runner;
  return runner;
}
