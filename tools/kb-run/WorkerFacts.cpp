//===- WorkerFacts.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "WorkerParts.h"
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <unistd.h>

namespace kbrun {

/// Whether this processor has what kb-opt's images for other machines use (x86-64-v3).
static bool runsCpuImages() {
#if defined(KBRUN_HAS_CPU) && defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

/// The name that the host has for itself.
static std::string hostName() {
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  return host;
}

/// The answer of \p server to \p job, null if it is none. \p text: what there is in its place.
static nlohmann::json askNow(PipedServer &server, const char *job, std::string &text) {
  auto mayGoOn = [] { return !isStopAsked; };
  if (server.ask(job, graceSeconds, 0, mayGoOn, text) != PipedServer::Reply::Line)
    return nullptr;
  nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
  return answer.is_object() ? answer : nlohmann::json::object();
}

static void addGpu(const nlohmann::json &device, kbrt::WorkerFacts &facts) {
  facts.devices.push_back("cuda");
  facts.gpu = device.value("uuid", "");
  if (facts.gpu.empty()) { // no NVML
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    facts.gpu = facts.host + "/" + (visible ? visible : "0");
  }
  facts.product = device.value("name", "");
  facts.arch = device.value("arch", "");
  facts.driver = device.value("driver", "");
}

std::optional<kbrt::WorkerFacts> factsOfWorker(const WorkerOptions &options, PipedServer &server) {
  kbrt::WorkerFacts facts;
  facts.host = hostName();
  facts.process = getpid();
  facts.id = facts.host + "-" + std::to_string(getpid()) + "-" +
             std::to_string(std::random_device()() % 100000);
  if (runsCpuImages())
    facts.devices.push_back("cpu");
  if (options.pretendSeconds < 0) {
    std::string text;
    const nlohmann::json run =
        askNow(server, R"({"version": 1, "device": "cuda", "plan": "", "image": ""})", text);
    if (run.is_null()) {
      fprintf(stderr, "kb-run: error: no job can run here: %s\n", text.c_str());
      if (options.sandboxed)
        fprintf(stderr, "kb-run: note: install the package 'bubblewrap', or pass "
                        "--unsafe-no-sandbox where the worker's account is a wall of its own\n");
      return std::nullopt;
    }
    const nlohmann::json compiler = askNow(server, R"({"version": 1, "compile": null})", text);
    if (compiler.contains("nvrtc")) {
      const std::string version = compiler.value("nvrtc", "");
      facts.devices.push_back("compile:" + version);
      facts.compilers = "NVRTC " + version;
    }
    if (run.contains("device"))
      addGpu(run["device"], facts);
  }
  if (!facts.devices.empty())
    return facts;
  fprintf(stderr, "kb-run: error: this kb-run has neither a CPU device nor a GPU\n");
  return std::nullopt;
}

} // namespace kbrun
