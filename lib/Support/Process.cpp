//===- Process.cpp --------------------------------------------------------===//
#include "kb-opt/Support/Process.h"
#include "Sandbox.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Error.h"
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

extern char **environ;

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
  static int anchor;
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
  llvm::SmallString<128> sibling(llvm::sys::path::parent_path(self));
  llvm::sys::path::append(sibling, program);
  if (llvm::sys::fs::can_execute(sibling))
    return sibling.str().str();
  return std::nullopt;
}

namespace {

/// A pipe whose ends close themselves.
struct Pipe {
  int readEnd = -1, writeEnd = -1;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return false;
    readEnd = ends[0];
    writeEnd = ends[1];
    return true;
  }
  static void shut(int &end) {
    if (end >= 0)
      ::close(end);
    end = -1;
  }
  ~Pipe() {
    shut(readEnd);
    shut(writeEnd);
  }
};

struct Child {
  pid_t pid = -1;
  Pipe in, out, err;
};

class RealProcessRunner : public ProcessRunner {
public:
  llvm::Expected<ProcessResult> run(const ProcessRequest &request) override;
};

} // namespace

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
/// namesakes.
static std::vector<std::string> mergedEnvironment(const ProcessRequest &request) {
  std::vector<std::string> merged;
  auto nameOf = [](llvm::StringRef entry) { return entry.split('=').first; };
  for (char **entry = environ; *entry; ++entry)
    if (llvm::none_of(request.environment,
                      [&](const std::string &mine) { return nameOf(mine) == nameOf(*entry); }))
      merged.push_back(*entry);
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

static llvm::Error start(const ProcessRequest &request, Child &child) {
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
    ::execve(program->c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  ::setpgid(child.pid, child.pid);
  Pipe::shut(child.in.readEnd);
  Pipe::shut(child.out.writeEnd);
  Pipe::shut(child.err.writeEnd);
  return llvm::Error::success();
}

/// Reads what is there; shuts \p end at end of file. Text beyond \p limit is
/// dropped, so that a child that writes without end fills no memory.
static void drain(int &end, std::string &into, uint64_t limit) {
  char buffer[65536];
  ssize_t got = ::read(end, buffer, sizeof(buffer));
  if (got < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  if (got <= 0)
    return Pipe::shut(end);
  if (into.size() < limit)
    into.append(buffer, std::min<uint64_t>(got, limit - into.size()));
}

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
static bool converse(const ProcessRequest &request, Child &child, ProcessResult &result,
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
  // A child that ends early must not end its parent.
  static bool ignored = (::signal(SIGPIPE, SIG_IGN), true);
  (void)ignored;
  if (interrupted())
    return interruption();
  double startSeconds = realClock().monotonicSeconds();
  Child child;
  if (llvm::Error error = start(request, child))
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
  if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  else if (request.sandbox && WEXITSTATUS(status) > 128) // how bubblewrap tells of a signal
    result.signal = WEXITSTATUS(status) - 128;
  else
    result.exitStatus = WEXITSTATUS(status);
  return result;
}

ProcessRunner &kbopt::realProcessRunner() {
  static RealProcessRunner runner;
  return runner;
}
