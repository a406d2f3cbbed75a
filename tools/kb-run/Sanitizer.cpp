//===- Sanitizer.cpp - a job under compute-sanitizer ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Sanitizer.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <list>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;

namespace kbrun {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char *printLimit = "200";
/// Free bytes that memcheck keeps between allocations.
constexpr const char *padding = "4096";

/// compute-sanitizer as the user's shell finds it, else the toolkit's; empty if there is none.
std::string findSanitizer() {
  auto isProgram = [](const fs::path &path) { return access(path.c_str(), X_OK) == 0; };
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  for (size_t at = 0; at <= path.size();) {
    size_t end = std::min(path.find(':', at), path.size());
    fs::path program = fs::path(path.substr(at, end - at)) / "compute-sanitizer";
    if (end > at && isProgram(program))
      return program;
    at = end + 1;
  }
  std::string toolkit = std::getenv("CUDA_PATH") ? std::getenv("CUDA_PATH") : "";
  for (const fs::path &root : {fs::path(toolkit), fs::path("/usr/local/cuda")})
    for (const char *place : {"bin/compute-sanitizer", "compute-sanitizer/compute-sanitizer"})
      if (!root.empty() && isProgram(root / place))
        return root / place;
  return "";
}

/// A folder that goes when this does.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "kb-run-XXXXXX").string();
    if (mkdtemp(name.data()))
      path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  fs::path path; ///< empty if none could be made
};

/// The job without everything that a watched execution must not do.
Json watchedJob(const Job &job, const std::vector<kbrt::cuda::RestingRepetition> &resting,
                const fs::path &result) {
  Json o = {{"version", 1},
            {"device", "cuda"},
            {"plan", job.subject.plan},
            {"image", job.subject.image},
            {"blobs", job.blobs},
            {"result", result.string()},
            {"wallSeconds", job.cuda.sanitizerSeconds},
            {"deviceBytes", job.options.deviceBytes},
            {"deviceIndex", job.cuda.deviceIndex},
            {"separateBuffers", true},
            {"resting", Json::array()},
            {"overrides", Json::array()}};
  for (const kbrt::cuda::RestingRepetition &known : resting)
    o["resting"].push_back({{"begin", known.repetition.begin},
                            {"period", known.repetition.period},
                            {"count", known.repetition.count},
                            {"periods", known.periods}});
  if (!job.subject.dataSha256.empty())
    o["dataSha256"] = job.subject.dataSha256;
  for (const Override &override : job.overrides)
    o["overrides"].push_back(
        {{"step", override.step}, {"file", override.file}, {"offset", override.offset}});
  return o;
}

/// A program with its output thrown away, started at once; 0 if it cannot be.
pid_t startQuiet(const std::vector<std::string> &words) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t self = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0); // so that what it starts ends with it
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self)
      _exit(127); // it died before we asked to die with it
    if (int null = open("/dev/null", O_RDWR); null >= 0)
      for (int fd : {0, 1, 2})
        dup2(null, fd);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  return std::max(pid, 0);
}

/// False if \p pid had to be ended, \p seconds after \p begin.
bool waitLimited(pid_t pid, std::chrono::steady_clock::time_point begin, double seconds) {
  auto end = begin + std::chrono::duration<double>(seconds);
  while (pid > 0 && waitpid(pid, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(-pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// Why the execution came to no judgement; empty if it did. A fault is one: the tool has caused it
/// to show what it found.
std::string reasonOfFailure(const fs::path &result) {
  std::string error;
  std::optional<std::string> text = readFile(result.string(), error);
  Json json = Json::parse(text.value_or(""), nullptr, false);
  if (!json.is_object())
    return "the watched execution left no result";
  std::string status = json.value("status", "");
  return status == "ok" || status == "fault" || status == "trap" || status == "assert"
             ? ""
             : json.value("message", status);
}

/// One tool's execution of a job.
class Watched {
public:
  Watched(const Job &job, const std::vector<kbrt::cuda::RestingRepetition> &resting,
          const std::string &program, const std::string &tool, const fs::path &folder)
      : job(job), resting(resting), program(program), tool(tool),
        result(folder / (tool + ".result.json")), jobFile(folder / (tool + ".job.json")),
        logFile(folder / (tool + ".log")) {}

  void start() {
    std::error_code ignored;
    fs::remove(result, ignored);
    fs::remove(logFile, ignored);
    if (!writeFile(jobFile.string(), watchedJob(job, resting, result).dump(), why))
      return;
    std::string self = fs::read_symlink("/proc/self/exe").string();
    std::vector<std::string> words = {program, "--tool", tool};
    words.insert(words.end(),
                 {"--demangle", "no", "--show-backtrace", "no", "--print-limit", printLimit});
    words.insert(words.end(), {"--report-api-errors", "no", "--log-file", logFile.string()});
    if (tool == "memcheck")
      words.insert(words.end(), {"--padding", padding});
    words.insert(words.end(), {self, "--no-child", jobFile.string()});
    begin = std::chrono::steady_clock::now();
    pid = startQuiet(words);
  }

  void finish() {
    if (!why.empty())
      return;
    isLate = !waitLimited(pid, begin, job.cuda.sanitizerSeconds);
    std::string error;
    log = kbrt::readSanitizerLog(tool, readFile(logFile.string(), error).value_or(""));
    why = log.trouble;
    if (isLate)
      why = "still ran after " + Json(job.cuda.sanitizerSeconds).dump() + " seconds";
    else if (why.empty())
      why = reasonOfFailure(result);
  }

  /// It came to no end of its own, perhaps because the others ran beside it.
  bool mayGoBetterAlone() const { return !why.empty() && !isLate && log.findings.empty(); }

  void runAlone() {
    why.clear();
    start();
    finish();
  }

  void tell(SanitizerReport &report) const {
    report.findings.insert(report.findings.end(), log.findings.begin(), log.findings.end());
    if (!why.empty() && log.findings.empty())
      report.degraded += (report.degraded.empty() ? "" : "; ") + tool + ": " + why;
  }

private:
  const Job &job;
  const std::vector<kbrt::cuda::RestingRepetition> &resting;
  std::string program, tool, why;
  fs::path result, jobFile, logFile;
  std::chrono::steady_clock::time_point begin;
  pid_t pid = 0;
  bool isLate = false;
  kbrt::SanitizerLog log;
};

} // namespace

SanitizerReport runSanitizer(const Job &job,
                             const std::vector<kbrt::cuda::RestingRepetition> &resting) {
  SanitizerReport report;
  std::string program = findSanitizer();
  TemporaryFolder folder;
  if (program.empty() || folder.path.empty()) {
    report.degraded = program.empty() ? "compute-sanitizer is neither on PATH nor in a CUDA toolkit"
                                      : "no temporary folder can be made";
    return report;
  }
  // Each starts processes and opens the device, which takes longer than a small plan.
  std::list<Watched> all;
  for (const std::string &tool : job.cuda.sanitizer)
    all.emplace_back(job, resting, program, tool, folder.path).start();
  for (Watched &each : all)
    each.finish();
  for (Watched &each : all) {
    if (all.size() > 1 && each.mayGoBetterAlone())
      each.runAlone();
    each.tell(report);
  }
  return report;
}

} // namespace kbrun
