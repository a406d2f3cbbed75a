//===- ChildProcess.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/ChildProcess.h"
#include "Spawn.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Interrupt.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kbopt;

/// What is kept of a child's stderr.
static constexpr size_t errorBytes = 1 << 16;

struct ChildProcess::Impl {
  ProcessRequest request;
  SpawnedChild child;
  std::string pending; ///< read, not yet a whole line
  std::string errors;
  std::optional<ProcessResult> ended;
};

ChildProcess::ChildProcess() : impl(std::make_unique<Impl>()) {}

llvm::Expected<std::unique_ptr<ChildProcess>> ChildProcess::start(const ProcessRequest &request) {
  std::unique_ptr<ChildProcess> process(new ChildProcess);
  process->impl->request = request;
  if (llvm::Error error = spawn(request, process->impl->child))
    return std::move(error);
  ::fcntl(process->impl->child.in.writeEnd, F_SETFL, O_NONBLOCK);
  return process;
}

ChildProcess::~ChildProcess() {
  if (impl->child.pid > 0)
    (void)ending();
}

/// The last `errorBytes` of what the child says.
void ChildProcess::drainErrors() {
  drain(impl->child.err.readEnd, impl->errors, impl->errors.size() + errorBytes);
  if (impl->errors.size() > errorBytes)
    impl->errors.erase(0, impl->errors.size() - errorBytes);
}

ChildProcess::Reply ChildProcess::ask(llvm::StringRef line, double limitSeconds, uint64_t mostBytes,
                                      std::string &answer) {
  std::string question = (line + "\n").str();
  llvm::StringRef rest = question;
  SpawnedChild &child = impl->child;
  double startSeconds = realClock().monotonicSeconds();
  for (;;) {
    size_t newline = impl->pending.find('\n');
    if (rest.empty() && newline != std::string::npos) {
      answer = impl->pending.substr(0, newline);
      impl->pending.erase(0, newline + 1);
      return answer.size() > mostBytes ? Reply::TooLong : Reply::Line;
    }
    if (impl->pending.size() > mostBytes)
      return Reply::TooLong;
    if (interrupted())
      return Reply::Interrupted;
    if (child.out.readEnd < 0)
      return Reply::Ended;
    if (limitSeconds > 0 && realClock().monotonicSeconds() - startSeconds >= limitSeconds)
      return Reply::Late;
    struct pollfd polled[3] = {{child.out.readEnd, POLLIN, 0},
                               {child.err.readEnd, POLLIN, 0},
                               {rest.empty() ? -1 : child.in.writeEnd, POLLOUT, 0}};
    if (::poll(polled, 3, /*milliseconds=*/50) < 0)
      continue;
    if (polled[2].revents) {
      ssize_t put = ::write(child.in.writeEnd, rest.data(), rest.size());
      if (put > 0)
        rest = rest.drop_front(put);
      else if (errno != EINTR && errno != EAGAIN)
        return Reply::Ended;
    }
    if (polled[0].revents)
      drain(child.out.readEnd, impl->pending, mostBytes + 2);
    if (polled[1].revents)
      drainErrors();
  }
}

ProcessResult ChildProcess::ending() {
  if (impl->ended)
    return *impl->ended;
  SpawnedChild &child = impl->child;
  int status = 0;
  // One that closed its output is about to end by itself, and says how.
  for (int waited = 0; child.out.readEnd < 0 && waited < 100; ++waited) {
    if (::waitpid(child.pid, &status, WNOHANG) == child.pid) {
      ::kill(-child.pid, SIGKILL);
      child.pid = -1;
      break;
    }
    ::usleep(1000);
  }
  if (child.pid > 0) {
    ::kill(-child.pid, SIGKILL);
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    child.pid = -1;
  }
  while (child.err.readEnd >= 0) {
    struct pollfd polled = {child.err.readEnd, POLLIN, 0};
    if (::poll(&polled, 1, 0) <= 0)
      break;
    drainErrors();
  }
  ProcessResult result;
  readWaitStatus(impl->request, status, result);
  result.err = impl->errors;
  impl->ended = result;
  return result;
}
