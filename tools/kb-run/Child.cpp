//===- Child.cpp - a job's own process ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Child.h"
#include "kbrt/WholeTransfer.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kbrun {

namespace {

/// Time that a child gets beyond its own limit, to load, compare and write.
constexpr double graceSeconds = 30;

/// What stands before the bytes of a job and of an outcome.
struct Header {
  uint64_t bytes = 0;
  int32_t status = 0;
  int32_t mayGoOn = 0;
};

bool send(int fd, const Header &header, const std::string &text) {
  return kbrt::sendAll(fd, &header, sizeof header) && kbrt::sendAll(fd, text.data(), text.size());
}

} // namespace

std::unique_ptr<Child> Child::start(bool warm) {
  std::unique_ptr<Child> child(new Child);
  int down[2] = {-1, -1}, up[2] = {-1, -1};
  void *p =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return nullptr;
  child->progress = new (p) Progress;
  if (pipe2(down, O_CLOEXEC) != 0)
    return nullptr;
  if (pipe2(up, O_CLOEXEC) != 0) {
    close(down[0]);
    close(down[1]);
    return nullptr;
  }
  signal(SIGPIPE, SIG_IGN); // a child may die before it reads its job
  fflush(nullptr);
  const pid_t self = getpid();
  child->pid = fork();
  if (child->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self)
      _exit(exitEnvironment); // it died before we asked to die with it
    close(down[1]);
    close(up[0]);
    child->toChild = down[0];
    child->fromChild = up[1];
    child->live(warm);
  }
  close(down[0]);
  close(up[1]);
  child->toChild = down[1];
  child->fromChild = up[0];
  return child->pid > 0 ? std::move(child) : nullptr;
}

void Child::stop() {
  if (pid > 0)
    kill(pid, SIGKILL);
}

bool Child::hasEnded() {
  if (pid > 0 && waitpid(pid, nullptr, WNOHANG) == pid)
    pid = -1;
  return pid <= 0;
}

Child::~Child() {
  if (toChild >= 0)
    close(toChild);
  if (fromChild >= 0)
    close(fromChild);
  stop();
  while (pid > 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR)
    ;
  if (progress)
    munmap(progress, sizeof(Progress));
}

/// \p message: name, folder and text of the job, with null bytes between them.
Outcome Child::runNext(const std::string &message) {
  try {
    std::string error;
    size_t first = message.find('\0'), second = message.find('\0', first + 1);
    std::optional<Job> job = parseJob(message.substr(second + 1), message.substr(0, first),
                                      message.substr(first + 1, second - first - 1), error);
    return job ? runJob(*job, *progress)
               : Outcome{exitUsage, plainResult("", "usage", error, "", nullptr)};
  } catch (const std::bad_alloc &) {
    return {exitEnvironment,
            plainResult("", "environment", "the process ran out of memory", "", nullptr)};
  } catch (const std::exception &e) {
    return {exitInternal, plainResult("", "internal", e.what(), "", nullptr)};
  }
}

void Child::live(bool warm) {
  // What kernels and libraries print must not get among a server's answers.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (warm)
    warmUpCuda();
  for (;;) {
    Header header;
    if (!kbrt::receiveAll(toChild, &header, sizeof header))
      _exit(exitOk); // no more jobs
    std::string message(header.bytes, 0);
    if (!kbrt::receiveAll(toChild, message.data(), message.size()))
      _exit(exitInternal);
    Outcome outcome = runNext(message);
    fflush(nullptr);
    bool isWritten =
        send(fromChild, {outcome.json.size(), outcome.status, outcome.mayGoOn}, outcome.json);
    // No destructors: a kernel that went wrong may have damaged what they would touch.
    if (!isWritten || !outcome.mayGoOn)
      _exit(isWritten ? outcome.status : exitInternal);
  }
}

Outcome Child::lost(const Job &job, const char *status, const std::string &message) {
  std::string text = message;
  progress->kernel[sizeof progress->kernel - 1] = 0;
  if (progress->kernel[0])
    text += " while kernel " + std::string(progress->kernel) + " ran (step " +
            std::to_string(progress->step) + ")";
  return {exitDiagnostics, plainResult(job.id, status, text, "", progress)};
}

Outcome Child::run(const Job &job, const std::string &jobText, const std::string &name,
                   const std::string &folder, const std::function<void()> &whileWaiting) {
  using namespace std::chrono;
  std::string message = name + '\0' + folder + '\0' + jobText;
  new (progress) Progress;
  send(toChild, {message.size()}, message); // a child that has died shows below
  double limit = job.limitSeconds();
  auto start = steady_clock::now(), looked = start;
  std::string answer;
  Header header;
  auto isWhole = [&] {
    if (answer.size() < sizeof header)
      return false;
    std::memcpy(&header, answer.data(), sizeof header);
    return answer.size() >= sizeof header + header.bytes;
  };
  bool isLate = false;
  while (!isWhole()) {
    pollfd event = {fromChild, POLLIN, 0};
    int ready = poll(&event, 1, whileWaiting || limit > 0 ? 1000 : -1);
    if (ready > 0) {
      char block[1 << 16];
      ssize_t n = read(fromChild, block, sizeof block);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        break;
      answer.append(block, static_cast<size_t>(n));
      continue;
    }
    if (whileWaiting)
      whileWaiting();
    auto now = steady_clock::now();
    if (progress->isWaiting)
      start += now - looked;
    looked = now;
    isLate =
        limit > 0 && duration<double>(steady_clock::now() - start).count() > limit + graceSeconds;
    if (isLate)
      break;
  }
  if (isWhole() && nlohmann::json::accept(answer.substr(sizeof header)))
    return {static_cast<ExitStatus>(header.status), answer.substr(sizeof header),
            header.mayGoOn != 0};
  if (isLate)
    kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  pid = -1;
  if (isLate)
    return lost(job, "timeout",
                "the job was still running " + std::to_string(int(graceSeconds)) +
                    " seconds after its time limit");
  if (WIFSIGNALED(status))
    return lost(job, "crash",
                std::string("the process died of signal ") + std::to_string(WTERMSIG(status)) +
                    " (" + strsignal(WTERMSIG(status)) + ")");
  return lost(job, "crash",
              "the process ended with status " + std::to_string(WEXITSTATUS(status)) +
                  " and no result");
}

} // namespace kbrun
