//===- PipedServer.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PipedServer.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace fs = std::filesystem;

namespace kbrun {

/// More is no result of a job.
static constexpr size_t mostAnswerBytes = size_t(64) << 20;

static std::string ownPath() {
  std::error_code code;
  return fs::read_symlink("/proc/self/exe", code).string();
}

/// The walls that kb-opt builds around a kb-run of its own (lib/Support/Sandbox.cpp): no network,
/// no other processes, files that cannot be written, no /tmp, no home.
static std::vector<std::string> wallsFor(const PipedServerOptions &options) {
  std::vector<std::string> words = {
      "bwrap",  "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev",
      "--proc", "/proc",         "--tmpfs",           "/tmp"};
  auto mount = [&](const char *option, const std::string &path) {
    words.insert(words.end(), {option, path, path});
  };
  std::error_code code;
  const char *home = getenv("HOME");
  if (home && fs::is_directory(home, code) && std::string(home) != "/")
    words.insert(words.end(), {"--tmpfs", home});
  if (!options.seesGpus && fs::is_directory("/run", code))
    words.insert(words.end(), {"--tmpfs", "/run"});
  if (options.seesGpus) {
    for (const auto &entry : fs::directory_iterator("/dev", code)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("nvidia") || name == "dxg")
        mount("--dev-bind-try", entry.path().string());
    }
    const char *toolkit = getenv("CUDA_PATH"), *runtime = getenv("XDG_RUNTIME_DIR");
    if (toolkit && fs::is_directory(toolkit, code))
      mount("--ro-bind", toolkit);
    // Where kb-runs of this machine take turns (kbrt/Turn.h).
    const std::string turns = std::string(runtime && *runtime ? runtime : "/tmp") + "/kb-run-turns";
    if (fs::create_directory(turns, code))
      fs::permissions(turns, fs::perms::all | fs::perms::sticky_bit, code);
    if (fs::is_directory(turns, code))
      mount("--bind", turns);
  }
  // kb-run's library lies in ../lib.
  mount("--ro-bind", fs::path(ownPath()).parent_path().parent_path().string());
  mount("--ro-bind", options.folder);
  mount("--bind", options.folder + "/outputs");
  words.insert(words.end(), {"--chdir", options.folder, "--"});
  return words;
}

std::vector<std::string> PipedServer::command() const {
  std::vector<std::string> words;
  if (options.sandboxed)
    words = wallsFor(options);
  words.insert(words.end(), {ownPath(), "serve", "-"});
  return words;
}

/// All files but the standard ones.
static void closeOthers() {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0)
    return;
#endif
  for (int file = 3; file < 65536; ++file)
    close(file);
}

/// Between fork and exec. \p words, \p environment: as execvpe takes them.
[[noreturn]] static void become(int input, int output, const char *folder, uint64_t memoryBytes,
                                char *const *words, char *const *environment) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0); // Ctrl-C is the worker's
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  dup2(input, 0);
  dup2(output, 1);
  closeOthers();
  if (chdir(folder) != 0)
    _exit(127);
  if (memoryBytes) {
    rlimit limit = {memoryBytes, memoryBytes};
    setrlimit(RLIMIT_AS, &limit);
  }
  execvpe(words[0], words, environment);
  dprintf(2, "kb-run: error: cannot start '%s': %s\n", words[0], strerror(errno));
  _exit(127);
}

bool PipedServer::start(std::string &why) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) {
    why = strerror(errno);
    return false;
  }
  if (pipe2(out, O_CLOEXEC) != 0) {
    why = strerror(errno);
    close(in[0]), close(in[1]);
    return false;
  }
  const std::vector<std::string> words = command();
  std::vector<char *> arguments, environment;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  // Passwords and addresses of the database stay here.
  for (char **each = environ; *each; ++each)
    if (strncmp(*each, "PG", 2) != 0)
      environment.push_back(*each);
  environment.push_back(nullptr);
  process = fork();
  if (process == 0)
    become(in[0], out[1], options.folder.c_str(), limit, arguments.data(), environment.data());
  if (process < 0)
    why = strerror(errno);
  close(in[0]);
  close(out[1]);
  input = in[1];
  output = out[0];
  pending.clear();
  if (process < 0)
    stop();
  return process > 0;
}

void PipedServer::stop() {
  for (int *file : {&input, &output})
    if (*file >= 0)
      close(std::exchange(*file, -1));
  if (process > 0) {
    kill(-process, SIGKILL);
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  process = -1;
}

/// How the server died, in words.
std::string PipedServer::ending() {
  int status = 0;
  const bool isKnown = process > 0 && waitpid(process, &status, 0) == process;
  if (isKnown)
    process = -1;
  stop();
  if (isKnown && WIFSIGNALED(status))
    return std::string("signal ") + strsignal(WTERMSIG(status));
  return "exit status " + std::to_string(isKnown ? WEXITSTATUS(status) : 0);
}

PipedServer::Reply PipedServer::ask(const std::string &line, double seconds, uint64_t memoryBytes,
                                    const std::function<bool()> &mayGoOn, std::string &text) {
  using Clock = std::chrono::steady_clock;
  if (process > 0 && limit != memoryBytes)
    stop();
  limit = memoryBytes;
  if (process < 0 && !start(text))
    return Reply::Ended;
  const std::string all = line + "\n";
  size_t sent = 0;
  const Clock::time_point start = Clock::now();
  for (;;) {
    if (size_t end = pending.find('\n'); end != std::string::npos && sent == all.size()) {
      text = pending.substr(0, end);
      pending.erase(0, end + 1);
      return Reply::Line;
    }
    if (seconds > 0 && std::chrono::duration<double>(Clock::now() - start).count() > seconds) {
      stop();
      text = "no answer within " + std::to_string(long(seconds)) + " s";
      return Reply::Late;
    }
    if (!mayGoOn()) {
      stop();
      return Reply::GivenUp;
    }
    const bool isSending = sent < all.size();
    pollfd files[] = {{output, POLLIN, 0}, {isSending ? input : -1, POLLOUT, 0}};
    poll(files, 2, 200);
    if (files[1].revents) {
      // A pipe takes as much at once without waiting.
      ssize_t n = write(input, all.data() + sent, std::min<size_t>(all.size() - sent, 4096));
      if (n > 0)
        sent += size_t(n);
    }
    if (!files[0].revents)
      continue;
    char bytes[1 << 16];
    ssize_t n = read(output, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR)
      continue;
    if (n > 0)
      pending.append(bytes, size_t(n));
    if (n <= 0 || pending.size() > mostAnswerBytes) {
      text = n <= 0 ? ending() : "an answer of more than 64 MiB";
      stop();
      return Reply::Ended;
    }
  }
}

} // namespace kbrun
