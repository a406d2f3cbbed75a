//===- Sanitizer.cpp - a job under compute-sanitizer ----------------------===//
#include "Sanitizer.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
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
Json watchedJob(const Job &job, const fs::path &result) {
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
            {"overrides", Json::array()}};
  if (!job.subject.dataSha256.empty())
    o["dataSha256"] = job.subject.dataSha256;
  for (const Override &override : job.overrides)
    o["overrides"].push_back(
        {{"step", override.step}, {"file", override.file}, {"offset", override.offset}});
  return o;
}

/// Runs the program with its output thrown away; false if it had to be ended after \p seconds.
bool runLimited(const std::vector<std::string> &words, double seconds) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0); // so that what it starts ends with it
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (int null = open("/dev/null", O_RDWR); null >= 0)
      for (int fd : {0, 1, 2})
        dup2(null, fd);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
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

} // namespace

SanitizerReport runSanitizer(const Job &job) {
  SanitizerReport report;
  std::string program = findSanitizer();
  TemporaryFolder folder;
  if (program.empty() || folder.path.empty()) {
    report.degraded = program.empty() ? "compute-sanitizer is neither on PATH nor in a CUDA toolkit"
                                      : "no temporary folder can be made";
    return report;
  }
  std::string error;
  fs::path jobFile = folder.path / "job.json", result = folder.path / "result.json",
           logFile = folder.path / "log";
  if (!writeFile(jobFile.string(), watchedJob(job, result).dump(), error)) {
    report.degraded = error;
    return report;
  }
  std::string self = fs::read_symlink("/proc/self/exe").string();
  for (const std::string &tool : job.cuda.sanitizer) {
    std::error_code ignored;
    fs::remove(result, ignored);
    fs::remove(logFile, ignored);
    std::vector<std::string> words = {program, "--tool", tool};
    words.insert(words.end(), {"--demangle", "no", "--show-backtrace", "no", "--print-limit", printLimit});
    words.insert(words.end(), {"--report-api-errors", "no", "--log-file", logFile.string()});
    if (tool == "memcheck")
      words.insert(words.end(), {"--padding", padding});
    words.insert(words.end(), {self, "--no-child", jobFile.string()});
    bool isDone = runLimited(words, job.cuda.sanitizerSeconds);
    kbrt::SanitizerLog log =
        kbrt::readSanitizerLog(tool, readFile(logFile.string(), error).value_or(""));
    report.findings.insert(report.findings.end(), log.findings.begin(), log.findings.end());
    std::string why = log.trouble;
    if (!isDone)
      why = "still ran after " + Json(job.cuda.sanitizerSeconds).dump() + " seconds";
    else if (why.empty())
      why = reasonOfFailure(result);
    if (!why.empty() && log.findings.empty())
      report.degraded += (report.degraded.empty() ? "" : "; ") + tool + ": " + why;
  }
  return report;
}

} // namespace kbrun
