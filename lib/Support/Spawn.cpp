//===- Spawn.cpp ----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Spawn.h"
#include "Sandbox.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Secrets.h"
#include "llvm/ADT/STLExtras.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

using namespace kbopt;

bool Pipe::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return false;
  readEnd = ends[0];
  writeEnd = ends[1];
  return true;
}

void Pipe::shut(int &end) {
  if (end >= 0)
    ::close(end);
  end = -1;
}

Pipe::~Pipe() {
  shut(readEnd);
  shut(writeEnd);
}

/// Runs between fork and exec: async-signal-safe calls only.
static void limitSelf(const ProcessRequest &request) {
  auto limit = [](int resource, uint64_t value) {
    if (!value)
      return;
    struct rlimit bound = {value, value};
    setrlimit(static_cast<__rlimit_resource>(resource), &bound);
  };
  limit(RLIMIT_CPU, request.cpuSeconds);
  limit(RLIMIT_AS, request.memoryBytes);
  limit(RLIMIT_FSIZE, request.fileBytes);
  struct rlimit noCore = {0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
}

static llvm::Error cannotStart(const ProcessRequest &request, llvm::StringRef why) {
  return llvm::make_error<ToolError>(("cannot start '" + request.argv[0] + "': " + why).str(),
                                     request.argv, -1, "");
}

/// The caller's environment with the request's entries in place of their
/// namesakes, and without keys where there are walls.
static std::vector<std::string> mergedEnvironment(const ProcessRequest &request) {
  std::vector<std::string> merged;
  auto nameOf = [](llvm::StringRef entry) { return entry.split('=').first; };
  for (char **entry = environ; *entry; ++entry) {
    if (request.sandbox && isSecretVariable(nameOf(*entry)))
      continue;
    if (llvm::none_of(request.environment,
                      [&](const std::string &mine) { return nameOf(mine) == nameOf(*entry); }))
      merged.push_back(*entry);
  }
  merged.insert(merged.end(), request.environment.begin(), request.environment.end());
  return merged;
}

static std::vector<char *> pointers(std::vector<std::string> &strings) {
  std::vector<char *> result;
  for (std::string &string : strings)
    result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

llvm::Error kbopt::spawn(const ProcessRequest &request, SpawnedChild &child) {
  // A child that ends early must not end its parent.
  static bool ignored = (::signal(SIGPIPE, SIG_IGN), true);
  (void)ignored;
  std::vector<std::string> arguments = request.argv;
  if (request.sandbox) {
    auto wrapped = sandboxedArguments(request);
    if (!wrapped)
      return wrapped.takeError();
    arguments = std::move(*wrapped);
  }
  auto program = findProgram(arguments[0]);
  if (!program)
    return cannotStart(request, "no such program in PATH");
  if (!child.in.open() || !child.out.open() || !child.err.open())
    return cannotStart(request, std::strerror(errno));
  std::vector<std::string> environment = mergedEnvironment(request);
  std::vector<char *> argv = pointers(arguments), envp = pointers(environment);

  child.pid = ::fork();
  if (child.pid < 0)
    return cannotStart(request, std::strerror(errno));
  if (child.pid == 0) {
    ::setpgid(0, 0);
    ::dup2(child.in.readEnd, 0);
    ::dup2(child.out.writeEnd, 1);
    ::dup2(child.err.writeEnd, 2);
    if (!request.sandbox && !request.workingDirectory.empty() &&
        ::chdir(request.workingDirectory.c_str()) != 0)
      ::_exit(127);
    limitSelf(request);
    // What another thread or a library has open is not the child's.
    ::syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
    ::execve(program->c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  ::setpgid(child.pid, child.pid);
  Pipe::shut(child.in.readEnd);
  Pipe::shut(child.out.writeEnd);
  Pipe::shut(child.err.writeEnd);
  return llvm::Error::success();
}

void kbopt::drain(int &end, std::string &into, uint64_t limit) {
  char buffer[65536];
  ssize_t got = ::read(end, buffer, sizeof(buffer));
  if (got < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  if (got <= 0)
    return Pipe::shut(end);
  if (into.size() < limit)
    into.append(buffer, std::min<uint64_t>(got, limit - into.size()));
}

void kbopt::readWaitStatus(const ProcessRequest &request, int waitStatus, ProcessResult &result) {
  if (WIFSIGNALED(waitStatus))
    result.signal = WTERMSIG(waitStatus);
  else if (request.sandbox && WEXITSTATUS(waitStatus) > 128) // how bubblewrap tells of a signal
    result.signal = WEXITSTATUS(waitStatus) - 128;
  else
    result.exitStatus = WEXITSTATUS(waitStatus);
}
