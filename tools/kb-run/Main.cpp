//===- Main.cpp - kb-run: execute a plan with an image --------------------===//
//
// Owns the command line and the child process: whatever a kernel does to the
// process it runs in, the parent writes a result.
//
//===----------------------------------------------------------------------===//
#include "Run.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kbrun;

namespace {

constexpr const char help[] =
    R"(kb-run executes the plan of a recorded CUDA program with the kernels of a CPU image.

Usage: kb-run [options] JOB.json
       kb-run [options] --plan=FOLDER --image=FILE [--outputs=FOLDER] [--result=FILE]

JOB.json names the plan, the image and everything else; see docs/JobFormat.md. Without a job file the
four options say what is needed and everything else has its default value.

Options:
  --plan=FOLDER     recording folder with plan.json and data.bin
  --image=FILE      image (.so) for the CPU device, built for mode plain, check or count
  --outputs=FOLDER  write what the host reads back to FOLDER/observables.bin
  --result=FILE     where the result goes (default: result.json beside the job, else standard output)
  --seed=N          order of threads and blocks; 0 is natural order
  --help, --version

Exit status: 0 the plan ran and nothing was found; 1 a launch failed or there are findings;
2 wrong usage or job file; 3 something cannot be read, loaded or written; 70 internal error.
)";

/// Time that a child gets beyond its own limit, to load, compare and write.
constexpr double graceSeconds = 30;

int usage(const std::string &message) {
  fprintf(stderr, "kb-run: error: %s\nkb-run: note: try kb-run --help\n", message.c_str());
  return exitUsage;
}

struct CommandLine {
  std::string jobFile;
  Job job;
  bool resultToStdout = false;
};

/// Fills \p line; returns an exit status if the program ends here, else -1.
int parseCommandLine(int argc, char **argv, CommandLine &line) {
  bool hasSeed = false;
  uint64_t seed = 0;
  std::string plan, image, outputs, result;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], value;
    if (argument == "--help" || argument == "-h") {
      fputs(help, stdout);
      return exitOk;
    }
    if (argument == "--version") {
      puts("kb-run (kb-opt 0.1.0)");
      return exitOk;
    }
    auto is = [&](const char *name) {
      size_t n = strlen(name);
      if (argument.compare(0, n, name) != 0)
        return false;
      value = argument.substr(n);
      return true;
    };
    if (is("--plan="))
      plan = value;
    else if (is("--image="))
      image = value;
    else if (is("--outputs="))
      outputs = value;
    else if (is("--result="))
      result = value;
    else if (is("--seed=")) {
      char *end = nullptr;
      seed = strtoull(value.c_str(), &end, 10);
      hasSeed = true;
      if (value.empty() || *end)
        return usage("--seed: '" + value + "' is no number");
    } else if (!argument.empty() && argument[0] == '-')
      return usage("unknown option '" + argument + "'");
    else if (!line.jobFile.empty())
      return usage("more than one job file: '" + line.jobFile + "' and '" + argument + "'");
    else
      line.jobFile = argument;
  }
  if (line.jobFile.empty()) {
    if (plan.empty() || image.empty())
      return usage("no job file, and not both --plan and --image");
    line.job.options.launch.wallSeconds = 60;
    line.resultToStdout = result.empty();
  } else {
    std::string error;
    std::optional<Job> job = readJob(line.jobFile, error);
    if (!job) {
      fprintf(stderr, "kb-run: error: %s\n", error.c_str());
      return exitUsage;
    }
    line.job = std::move(*job);
  }
  if (!plan.empty())
    line.job.plan = plan;
  if (!image.empty())
    line.job.image = image.find('/') == std::string::npos ? "./" + image : image;
  if (!outputs.empty())
    line.job.outputs = outputs;
  if (!result.empty())
    line.job.result = result;
  if (hasSeed)
    line.job.options.launch.seed = seed;
  if (line.resultToStdout)
    line.job.result = "/dev/stdout";
  return -1;
}

Progress *sharedProgress() {
  void *p =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : new (p) Progress;
}

/// Waits for \p child at most \p seconds (0: for ever); false if it had to be killed.
bool waitFor(pid_t child, double seconds, int &status) {
#ifdef SYS_pidfd_open
  int fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (fd >= 0) {
    struct pollfd event = {fd, POLLIN, 0};
    int ready;
    do
      ready = poll(&event, 1, seconds > 0 ? static_cast<int>(seconds * 1000) : -1);
    while (ready < 0 && errno == EINTR);
    close(fd);
    if (ready == 0) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return false;
    }
  }
#endif
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return true;
}

int writeCrash(const Job &job, const Progress &progress, const char *status,
               const std::string &message) {
  std::string text = message;
  if (progress.kernel[0])
    text += " while kernel " + std::string(progress.kernel) + " ran (step " +
            std::to_string(progress.step) + ")";
  fprintf(stderr, "kb-run: error: %s\n", text.c_str());
  std::string error;
  if (!writeFile(job.result, crashResult(progress, status, text), error)) {
    fprintf(stderr, "kb-run: error: %s\n", error.c_str());
    return exitEnvironment;
  }
  return exitDiagnostics;
}

} // namespace

int main(int argc, char **argv) {
  CommandLine line;
  if (int status = parseCommandLine(argc, argv, line); status >= 0)
    return status;
  const Job &job = line.job;
  struct rlimit noCore = {0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  Progress *progress = sharedProgress();
  if (!progress) {
    fprintf(stderr, "kb-run: error: no memory\n");
    return exitEnvironment;
  }
  fflush(nullptr);
  pid_t child = fork();
  if (child < 0) {
    fprintf(stderr, "kb-run: error: cannot start a process: %s\n", strerror(errno));
    return exitEnvironment;
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = exitInternal;
    try {
      status = runJob(job, *progress);
    } catch (const std::bad_alloc &) {
      fprintf(stderr, "kb-run: error: the process ran out of memory\n");
      status = exitEnvironment;
    } catch (const std::exception &e) {
      fprintf(stderr, "kb-run: internal error: %s\n", e.what());
    }
    fflush(nullptr);
    // No destructors: a kernel that went wrong may have damaged what they would touch.
    _exit(status);
  }
  double limit = job.options.launch.wallSeconds * job.repetitions;
  int status = 0;
  if (!waitFor(child, limit > 0 ? limit + graceSeconds : 0, status))
    return writeCrash(job, *progress, "timeout",
                      "the job was still running " + std::to_string(int(graceSeconds)) +
                          " seconds after its time limit");
  if (WIFSIGNALED(status))
    return writeCrash(job, *progress, "crash",
                      std::string("the process died of signal ") +
                          std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) +
                          ")");
  return WEXITSTATUS(status);
}
