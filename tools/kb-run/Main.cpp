//===- Main.cpp - kb-run: execute a plan with an image --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the command line. Jobs run in processes of their own (Child.h).
//
//===----------------------------------------------------------------------===//
#include "Child.h"
#include "Compile.h"
#include "Hold.h"
#include "Screen.h"
#include "Serve.h"
#include "Worker.h"
#include "kbrt/Database.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

using namespace kbrun;

namespace {

constexpr const char help[] =
    R"(kb-run executes the plan of a recorded CUDA program with the kernels of an image.

Usage: kb-run [options] JOB.json
       kb-run [options] --plan=FOLDER --image=FILE [--outputs=FOLDER] [--result=FILE]
       kb-run serve -
       kb-run serve FOLDER [--once] [--blob-bytes=N]
       kb-run serve postgresql://... [-jN] [--once] [--lease=S] [--cache=FOLDER] [--blob-bytes=N]
                                     [--unsafe-no-sandbox]
       kb-run hold
       kb-run devices
       kb-run compile REQUEST.json

JOB.json names the plan, the image and everything else; see docs/JobFormat.md. Without a job file the
four options say what is needed and everything else has its default value.

serve answers jobs: from standard input, one a line, each answered by a line on standard output; or
from a spool folder that may be shared with other machines, until it is stopped, with --once until
there are no more jobs; of the files that came with jobs it keeps the latest N bytes (8 GiB). Or it
takes jobs from a database (docs/Cluster.md), N at once, on the GPUs in turn and behind walls; a job
is another worker's if this one is silent for S seconds (30); --cache holds files for jobs, a
temporary folder else.
hold keeps the inputs and results of one program on the device and answers jobs about candidates for
it, from standard input, one a line. devices prints what is known of the CUDA device as JSON. compile
makes machine code by NVRTC, without a device.

Options:
  --plan=FOLDER     recording folder with plan.json and data.bin
  --image=FILE      CPU device: image (.so) for mode plain, check or count; CUDA: cubin or PTX
  --device=cpu|cuda what executes the plan (default: cpu)
  --outputs=FOLDER  write what the host reads back to FOLDER/observables.bin
  --result=FILE     where the result goes (default: result.json beside the job, else standard output)
  --seed=N          order of threads and blocks; 0 is natural order
  --no-child        execute in this very process: for tools that watch one (ncu, cuda-gdb); a crash
                    leaves no result
  --help, --version

Exit status: 0 the plan ran and nothing was found; 1 a launch failed or there are findings;
2 wrong usage or job file; 3 something cannot be read, loaded or written, or there is no such device;
70 internal error.
)";

int usage(const std::string &message) {
  fprintf(stderr, "kb-run: error: %s\nkb-run: note: try kb-run --help\n", message.c_str());
  return exitUsage;
}

struct CommandLine {
  std::string jobFile, jobText, folder;
  Job job;
  bool hasChild = true;
};

/// Fills \p line; returns an exit status if the program ends here, else -1.
int parseCommandLine(int argc, char **argv, CommandLine &line) {
  nlohmann::json changes = nlohmann::json::object();
  auto absolute = [](const std::string &path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], value;
    if (argument == "--help" || argument == "-h") {
      fputs(help, stdout);
      return exitOk;
    }
    if (argument == "--no-child") {
      line.hasChild = false;
      continue;
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
      changes["plan"] = absolute(value);
    else if (is("--image="))
      changes["image"] = absolute(value);
    else if (is("--outputs="))
      changes["outputs"] = absolute(value);
    else if (is("--result="))
      changes["result"] = absolute(value);
    else if (is("--device="))
      changes["device"] = value;
    else if (is("--seed=")) {
      char *end = nullptr;
      changes["seed"] = static_cast<uint64_t>(strtoull(value.c_str(), &end, 10));
      if (value.empty() || *end)
        return usage("--seed: '" + value + "' is no number");
    } else if (!argument.empty() && argument[0] == '-')
      return usage("unknown option '" + argument + "'");
    else if (!line.jobFile.empty())
      return usage("more than one job file: '" + line.jobFile + "' and '" + argument + "'");
    else
      line.jobFile = argument;
  }
  std::string error;
  nlohmann::json whole = {{"version", 1}};
  line.folder = ".";
  if (line.jobFile.empty()) {
    if (!changes.contains("plan") || !changes.contains("image"))
      return usage("no job file, and not both --plan and --image");
    if (!changes.contains("result"))
      changes["result"] = "/dev/stdout";
  } else {
    std::optional<std::string> text = readFile(line.jobFile, error);
    if (text && !readJob(line.jobFile, error))
      text.reset();
    if (!text) {
      fprintf(stderr, "kb-run: error: %s\n", error.c_str());
      return exitUsage;
    }
    whole = nlohmann::json::parse(*text);
    line.folder = std::filesystem::absolute(line.jobFile).parent_path().string();
  }
  whole.update(changes);
  line.jobText = whole.dump();
  std::optional<Job> job = parseJob(
      line.jobText, line.jobFile.empty() ? "command line" : line.jobFile, line.folder, error);
  if (!job) {
    fprintf(stderr, "kb-run: error: %s\n", error.c_str());
    return exitUsage;
  }
  line.job = std::move(*job);
  return -1;
}

/// What went wrong with the machine or with us is for people, too.
void complain(const Outcome &outcome) {
  auto result = nlohmann::json::parse(outcome.json, nullptr, false);
  if (!result.is_object())
    return;
  std::string message = result.value("message", ""), note = result.value("note", "");
  bool isInternal = outcome.status == exitInternal;
  fprintf(stderr, "kb-run: %serror: %s\n", isInternal ? "internal " : "", message.c_str());
  if (!note.empty())
    fprintf(stderr, "kb-run: note: %s\n", note.c_str());
}

/// Nothing if no process can be started.
std::optional<Outcome> execute(const CommandLine &line) {
  if (!line.hasChild) {
    Progress progress;
    return runJob(line.job, progress);
  }
  std::unique_ptr<Child> child = Child::start(false);
  if (!child)
    return std::nullopt;
  return child->run(line.job, line.jobText, line.jobFile.empty() ? "command line" : line.jobFile,
                    line.folder);
}

/// False if \p word is no option of a spool's server, or of a database's worker.
bool readServeOption(const std::string &word, bool isWorker, WorkerOptions &options) {
  auto value = [&](const char *name, auto read) {
    const size_t length = strlen(name);
    if (word.compare(0, length, name) != 0 || word.size() == length)
      return false;
    char *end = nullptr;
    read(word.c_str() + length, &end);
    return !*end;
  };
  if (word == "--once")
    return options.once = true;
  if (value("--blob-bytes=",
            [&](const char *text, char **end) { options.mostBlobBytes = strtoull(text, end, 10); }))
    return true;
  if (!isWorker)
    return false;
  if (word == "--unsafe-no-sandbox")
    return !(options.sandboxed = false);
  if (word.starts_with("--cache=") && word.size() > 8) {
    options.cacheFolder = word.substr(8);
    return true;
  }
  return value("--lease=",
               [&](const char *text, char **end) { options.leaseSeconds = strtod(text, end); })
             ? options.leaseSeconds >= 1
         : value("--pretend=",
                 [&](const char *text, char **end) { options.pretendSeconds = strtod(text, end); })
             ? options.pretendSeconds >= 0
             : value("-j", [&](const char *text,
                               char **end) { options.jobs = unsigned(strtoul(text, end, 10)); }) &&
                   options.jobs >= 1;
}

} // namespace

int main(int argc, char **argv) {
  rlimit noCore = {0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "serve") {
    WorkerOptions options;
    bool isGood = words.size() >= 2;
    options.url = isGood ? words[1] : "";
    const bool isWorker = kbrt::isDatabaseUrl(options.url);
    for (size_t i = 2; i < words.size(); ++i)
      isGood &= readServeOption(words[i], isWorker, options);
    if (!isGood || (words[1] == "-" && words.size() > 2))
      return usage("serve takes a folder, the address of a database, or - for standard input, and "
                   "the options of each");
    if (isWorker)
      return serveDatabase(options);
    return words[1] == "-" ? servePipe()
                           : serveSpool(words[1], options.once, options.mostBlobBytes);
  }
  if (words.size() == 1 && words[0] == "hold")
    return hold();
  if (words.size() == 1 && words[0] == "screen")
    return screenWorker();
  if (words.size() == 1 && words[0] == "devices")
    return showDevices();
  if (words.size() == 2 && words[0] == "compile")
    return compile(words[1]);
  CommandLine line;
  if (int status = parseCommandLine(argc, argv, line); status >= 0)
    return status;
  std::optional<Outcome> answer = execute(line);
  if (!answer) {
    fprintf(stderr, "kb-run: error: cannot start a process: %s\n", strerror(errno));
    return exitEnvironment;
  }
  const Outcome &outcome = *answer;
  auto parsed = nlohmann::json::parse(outcome.json, nullptr, false);
  bool isLost = parsed.is_object() && parsed.contains("crash");
  if (outcome.status >= exitUsage || isLost)
    complain(outcome);
  std::string error;
  if (outcome.status != exitUsage && !writeFile(line.job.result, outcome.json, error)) {
    fprintf(stderr, "kb-run: error: %s\n", error.c_str());
    return exitEnvironment;
  }
  return outcome.status;
}
