//===- Compile.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Compile.h"
#include "Job.h"
#include "Run.h"
#include "kbrt/CudaDevice.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kbrun {

static std::string resultOf(const nlohmann::json &json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

#ifndef KBRUN_HAS_CUDA
int compile(const std::string &path) {
  fprintf(stderr, "kb-run: error: %s: this kb-run was built without CUDA\n", path.c_str());
  return exitEnvironment;
}

static std::string compileHere(const nlohmann::json &) {
  return plainResult("", "environment", "this kb-run was built without CUDA", "", nullptr);
}
#else

static kbrt::cuda::NvrtcRequest requestFrom(const nlohmann::json &json) {
  kbrt::cuda::NvrtcRequest request;
  json.at("source").get_to(request.source);
  json.at("name").get_to(request.name);
  json.at("arch").get_to(request.arch);
  json.at("headers").get_to(request.headers);
  json.at("instances").get_to(request.instances);
  json.at("options").get_to(request.options);
  return request;
}

int compile(const std::string &path) {
  std::string error;
  std::optional<std::string> text = readFile(path, error);
  std::string cubin, ptx;
  kbrt::cuda::NvrtcRequest request;
  if (text)
    try {
      auto json = nlohmann::json::parse(*text);
      request = requestFrom(json);
      json.at("cubin").get_to(cubin);
      json.at("ptx").get_to(ptx);
    } catch (const nlohmann::json::exception &exception) {
      error = path + ": " + exception.what();
    }
  if (!error.empty()) {
    fprintf(stderr, "kb-run: error: %s\n", error.c_str());
    return exitUsage;
  }
  kbrt::cuda::Problem problem;
  std::optional<kbrt::cuda::NvrtcOutput> output = kbrt::cuda::compileWithNvrtc(request, problem);
  if (!output) {
    fprintf(stderr, "kb-run: error: %s\n", problem.message.c_str());
    return problem.status == kbrt::LaunchStatus::InvalidLaunch ? exitDiagnostics : exitEnvironment;
  }
  fputs(output->log.c_str(), stdout);
  if (writeFile(ptx, output->ptx, error) && writeFile(cubin, output->cubin, error))
    return exitOk;
  fprintf(stderr, "kb-run: error: %s\n", error.c_str());
  return exitEnvironment;
}
/// Two digits for each byte.
static std::string hexOf(const std::string &bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (unsigned char byte : bytes)
    text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

/// The result of a compile job, in the process that runs it.
static std::string compileHere(const nlohmann::json &job) {
  kbrt::cuda::Problem problem;
  std::optional<kbrt::cuda::NvrtcFacts> facts = kbrt::cuda::nvrtcFacts(problem);
  if (!facts)
    return plainResult("", "environment", problem.message, problem.note, nullptr);
  nlohmann::json result = {{"version", 1}, {"status", "ok"}, {"nvrtc", facts->version}};
  if (job["compile"].is_null())
    return resultOf(result);
  kbrt::cuda::NvrtcRequest request;
  try {
    request = requestFrom(job["compile"]);
  } catch (const nlohmann::json::exception &exception) {
    return plainResult("", "usage", exception.what(), "", nullptr);
  }
  for (const std::string &folder : facts->includeFolders)
    request.options.push_back("-I" + folder);
  std::optional<kbrt::cuda::NvrtcOutput> output = compileWithNvrtc(request, problem);
  if (!output && problem.status != kbrt::LaunchStatus::InvalidLaunch)
    return plainResult("", "environment", problem.message, problem.note, nullptr);
  result["compiles"] = output.has_value();
  result["message"] = output ? output->log : problem.message;
  if (output) {
    result["cubin"] = hexOf(output->cubin);
    result["ptx"] = output->ptx;
  }
  return resultOf(result);
}
#endif

bool isCompileJob(const std::string &job) {
  if (job.find("\"compile\"") == std::string::npos)
    return false;
  nlohmann::json json = nlohmann::json::parse(job, nullptr, false);
  return json.is_object() && json.contains("compile");
}

/// Reads until the writer ends, at most \p seconds.
static std::string readAll(int file, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::string text;
  for (char bytes[1 << 16];;) {
    const double left =
        std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
    pollfd ready = {file, POLLIN, 0};
    if (left <= 0 || (poll(&ready, 1, int(1e3 * left) + 1) < 0 && errno != EINTR))
      return text;
    if (!ready.revents)
      continue;
    ssize_t n = read(file, bytes, sizeof bytes);
    if (n == 0)
      return text;
    if (n > 0)
      text.append(bytes, size_t(n));
    else if (errno != EINTR)
      return text;
  }
}

Outcome compileJob(const std::string &text) {
  const nlohmann::json job = nlohmann::json::parse(text, nullptr, false);
  const double seconds = job.value("wallSeconds", 60.0);
  int pipes[2];
  pid_t process = pipe(pipes) == 0 ? fork() : -1;
  if (process < 0)
    return {exitEnvironment, plainResult("", "environment", strerror(errno), "", nullptr)};
  if (process == 0) {
    close(pipes[0]);
    const std::string result = compileHere(job);
    for (size_t at = 0; at < result.size();) {
      ssize_t n = write(pipes[1], result.data() + at, result.size() - at);
      if (n <= 0)
        _exit(1);
      at += size_t(n);
    }
    _exit(0);
  }
  close(pipes[1]);
  std::string result = readAll(pipes[0], seconds);
  close(pipes[0]);
  kill(process, SIGKILL); // has no effect on one that has ended
  int status = 0;
  waitpid(process, &status, 0);
  if (!nlohmann::json::accept(result))
    return {exitOk,
            plainResult("",
                        WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "timeout" : "crash",
                        "the compiler gave no result", "", nullptr)};
  return {exitOk, result};
}

} // namespace kbrun
