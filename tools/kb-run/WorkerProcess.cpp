//===- WorkerProcess.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "WorkerProcess.h"
#include "Screen.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kbrun {

namespace {

/// To open a device while thirty others do.
constexpr double readySeconds = 60;
/// Descriptors that are given to the child lie above those that it has them under.
constexpr int safeDescriptor = 16;
/// How long one look at the process waits.
constexpr int lookMs = 100;

/// Nothing but what may be called between fork and exec.
[[noreturn]] void becomeWorker(int socket, int memory) {
  dup2(socket, workerSocket);
  dup2(memory, workerProgress);
  // What libraries print must not get among the answers.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0)
    dup2(nothing, STDIN_FILENO);
#ifdef SYS_close_range
  // The driver's own descriptors too: a worker opens its own.
  syscall(SYS_close_range, workerProgress + 1, ~0u, 0);
#endif
  char name[] = "kb-run", what[] = "screen";
  char *arguments[] = {name, what, nullptr};
  execv("/proc/self/exe", arguments);
  _exit(exitEnvironment);
}

} // namespace

std::unique_ptr<WorkerProcess> WorkerProcess::start() {
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess);
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return nullptr;
  worker->link = std::make_unique<Link>(ends[0]);
  int memory = memfd_create("kb-run progress", MFD_CLOEXEC), socket = -1, given = -1;
  void *place = MAP_FAILED;
  if (memory >= 0 && ftruncate(memory, sizeof(Progress)) == 0)
    place = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (place != MAP_FAILED) {
    worker->progress = new (place) Progress;
    socket = fcntl(ends[1], F_DUPFD_CLOEXEC, safeDescriptor);
    given = fcntl(memory, F_DUPFD_CLOEXEC, safeDescriptor);
  }
  if (socket >= 0 && given >= 0) {
    fflush(nullptr);
    worker->pid = fork();
    if (worker->pid == 0)
      becomeWorker(socket, given);
  }
  for (int each : {ends[1], memory, socket, given})
    if (each >= 0)
      close(each);
  return worker->pid > 0 ? std::move(worker) : nullptr;
}

WorkerProcess::~WorkerProcess() {
  stop();
  waitForEnd();
  if (progress)
    munmap(progress, sizeof(Progress));
}

void WorkerProcess::stop() {
  if (pid > 0)
    kill(pid, SIGKILL);
}

void WorkerProcess::waitForEnd() {
  while (pid > 0 && waitpid(pid, &waitStatus, 0) < 0 && errno == EINTR)
    ;
  pid = -1;
}

bool WorkerProcess::hasEnded() {
  if (pid > 0 && waitpid(pid, &waitStatus, WNOHANG) == pid)
    pid = -1;
  return pid <= 0;
}

WorkerProcess::Answer WorkerProcess::lost(Answer::Kind kind, const char *status,
                                          std::string message) {
  progress->kernel[sizeof progress->kernel - 1] = 0;
  if (progress->kernel[0])
    message += " while kernel " + std::string(progress->kernel) + " ran (step " +
               std::to_string(progress->step) + ")";
  return {kind, {{"status", status}, {"message", message}, {"note", ""}}};
}

WorkerProcess::Answer WorkerProcess::wait(double limitSeconds) {
  using namespace std::chrono;
  auto start = steady_clock::now(), looked = start;
  for (;;) {
    Answer answer;
    switch (link->receive(answer.json, lookMs)) {
    case Link::Received::Message:
      return answer;
    case Link::Received::Ended:
      waitForEnd();
      return lost(Answer::Died, "crash",
                  WIFSIGNALED(waitStatus)
                      ? std::string("the process died of signal ") +
                            std::to_string(WTERMSIG(waitStatus)) + " (" +
                            strsignal(WTERMSIG(waitStatus)) + ")"
                      : "the process ended with status " + std::to_string(WEXITSTATUS(waitStatus)));
    case Link::Received::Late:
      break;
    }
    auto now = steady_clock::now();
    if (progress->isWaiting)
      start += now - looked;
    looked = now;
    if (duration<double>(now - start).count() > limitSeconds) {
      stop();
      waitForEnd();
      char text[32];
      snprintf(text, sizeof text, "%g", limitSeconds);
      return lost(Answer::Hung, "timeout",
                  "the process did not answer within " + std::string(text) + " seconds");
    }
  }
}

WorkerProcess::Answer WorkerProcess::ask(const nlohmann::ordered_json &message, double limitSeconds,
                                         const std::vector<int> &descriptors) {
  progress->kernel[0] = 0;
  link->send(message, descriptors); // one that has died shows below
  return wait(limitSeconds);
}

const WorkerProcess::Answer &WorkerProcess::whetherReady() {
  if (!ready)
    ready = wait(readySeconds);
  return *ready;
}

} // namespace kbrun
