//===- ServeDatabase.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Run.h"
#include "WorkerParts.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace kbrun {

volatile sig_atomic_t isStopAsked = 0;

void complain(const kbrt::DatabaseFailure &failure) {
  fprintf(stderr, "kb-run: error: %s\n", failure.message.c_str());
  if (!failure.note.empty())
    fprintf(stderr, "kb-run: note: %s\n", failure.note.c_str());
}

/// One worker in this process.
static int serveHere(const WorkerOptions &options) {
  std::string folder = options.cacheFolder;
  std::error_code code;
  if (folder.empty()) {
    folder = (fs::temp_directory_path(code) / "kb-run-XXXXXX").string();
    if (!mkdtemp(folder.data())) {
      fprintf(stderr, "kb-run: error: cannot make a folder '%s': %s\n", folder.c_str(),
              strerror(errno));
      return exitEnvironment;
    }
  } else {
    folder += "/" + std::to_string(getpid());
  }
  for (const char *part : {"blobs", "plans", "outputs"})
    fs::create_directories(folder + "/" + part, code);
  if (code) {
    fprintf(stderr, "kb-run: error: cannot make folders in '%s': %s\n", folder.c_str(),
            code.message().c_str());
    return exitEnvironment;
  }
  int status = runWorker(options, fs::absolute(folder));
  fs::remove_all(folder, code);
  return status;
}

/// The GPUs of this process as CUDA_VISIBLE_DEVICES names them; none where it sees none.
static std::vector<std::string> visibleGpus() {
  std::vector<std::string> names;
  if (const char *given = getenv("CUDA_VISIBLE_DEVICES")) {
    std::string rest = given;
    for (size_t at = 0; !rest.empty(); rest.erase(0, at)) {
      at = rest.find(',');
      names.push_back(rest.substr(0, at));
      at = at == std::string::npos ? rest.size() : at + 1;
    }
    return names;
  }
  std::error_code code;
  while (fs::exists("/dev/nvidia" + std::to_string(names.size()), code))
    names.push_back(std::to_string(names.size()));
  return names;
}

static void onStop(int) { isStopAsked = 1; }

static void takeSignals() {
  struct sigaction action = {};
  action.sa_handler = onStop;
  for (int signal : {SIGTERM, SIGINT, SIGUSR1}) // the last is Slurm's warning before a limit
    sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int serveDatabase(const WorkerOptions &options) {
  kbrt::DatabaseFailure failure;
  if (!kbrt::checkDatabaseUrl(options.url, failure)) {
    complain(failure);
    return exitEnvironment;
  }
  takeSignals();
  if (options.jobs <= 1)
    return serveHere(options);
  std::vector<pid_t> workers;
  const pid_t parent = getpid();
  const std::vector<std::string> gpus = visibleGpus();
  for (unsigned i = 0; i != options.jobs; ++i) {
    pid_t worker = fork();
    if (worker == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (!gpus.empty())
        setenv("CUDA_VISIBLE_DEVICES", gpus[i % gpus.size()].c_str(), 1);
      _exit(getppid() == parent ? serveHere(options) : exitEnvironment);
    }
    if (worker > 0)
      workers.push_back(worker);
  }
  int worst = workers.size() == options.jobs ? exitOk : exitEnvironment;
  while (!workers.empty()) {
    int status = 0;
    pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) {
      for (pid_t worker : workers)
        kill(worker, SIGTERM);
      continue;
    }
    std::erase(workers, ended);
    if (status != 0)
      worst = exitEnvironment;
  }
  return worst;
}

} // namespace kbrun
