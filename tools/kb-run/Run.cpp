//===- Run.cpp - one job in its own process -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Run.h"

#include <nlohmann/json.hpp>

namespace kbrun {

using Json = nlohmann::ordered_json;

std::string plainResult(const std::string &id, const std::string &status,
                        const std::string &message, const std::string &note,
                        const Progress *progress) {
  Json o = {{"version", 1}, {"status", status}, {"message", message}, {"mode", nullptr}};
  if (!id.empty())
    o["id"] = id;
  if (!note.empty())
    o["note"] = note;
  o["launches"] = Json::array();
  if (progress)
    o["crash"] = {{"step", uint64_t(progress->step)},
                  {"repetition", uint32_t(progress->repetition)},
                  {"kernel", std::string(progress->kernel)}};
  return o.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

#ifndef KBRUN_HAS_CPU
Outcome runOnCpu(const Job &job, Progress &) {
  return {exitEnvironment,
          plainResult(job.id, "environment", "this kb-run was built without the CPU device",
                      "build the whole project, or send jobs for the device cuda", nullptr)};
}
#endif

#ifndef KBRUN_HAS_CUDA
Outcome runOnCuda(const Job &job, Progress &) {
  return {exitEnvironment,
          plainResult(job.id, "environment", "this kb-run was built without CUDA",
                      "configure the build where the headers of a CUDA toolkit of version 12.6 or "
                      "later are found (CUDA_PATH)",
                      nullptr)};
}
void warmUpCuda() {}
#endif

Outcome runJob(const Job &job, Progress &progress) {
  return job.isCuda ? runOnCuda(job, progress) : runOnCpu(job, progress);
}

} // namespace kbrun
