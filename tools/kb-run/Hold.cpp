//===- Hold.cpp - kb-run as a vault ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Hold.h"
#include "Run.h"
#include "Vault.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

namespace kbrun {

using Json = nlohmann::ordered_json;

namespace {

std::string absolute(const std::string &path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

/// Nothing and \p error if the line is no job.
std::optional<HoldJob> parse(const std::string &line, std::string &error) {
  constexpr const char *known[] = {"version",     "id",         "op",     "name",
                                   "image",       "plans",      "poison", "leastLimitSeconds",
                                   "mostSamples", "apartRatio", "timed",  "fresh"};
  HoldJob job;
  try {
    const Json json = Json::parse(line);
    job.id = json.is_object() ? json.value("id", "") : "";
    for (const auto &[name, value] : json.items())
      if (std::find(std::begin(known), std::end(known), name) == std::end(known)) {
        error = name + ": unknown field";
        return std::nullopt;
      }
    const auto op = json.at("op").get<std::string>();
    job.isOpen = op == "open";
    job.name = json.value("name", "the program");
    job.image = absolute(json.at("image").get<std::string>());
    for (const Json &plan : json.at("plans"))
      job.plans.push_back(absolute(plan.get<std::string>()));
    job.poison = json.value("poison", job.poison);
    job.leastLimitSeconds = json.value("leastLimitSeconds", job.leastLimitSeconds);
    job.mostSamples = json.value("mostSamples", job.mostSamples);
    job.apartRatio = json.value("apartRatio", job.apartRatio);
    job.isTimed = json.value("timed", job.isTimed);
    job.isFresh = json.value("fresh", job.isFresh);
    if (json.at("version") != 1)
      error = "version: is not 1, the only one this kb-run knows";
    else if (op != "open" && op != "screen")
      error = "op: '" + op + "' is neither open nor screen";
    else if (job.plans.empty())
      error = "plans: is empty";
    else if (!(job.leastLimitSeconds > 0) || !(job.apartRatio >= 1) || !job.mostSamples)
      error = "leastLimitSeconds, apartRatio or mostSamples is too small";
    else
      return job;
  } catch (const std::exception &e) {
    error = e.what();
  }
  return std::nullopt;
}

} // namespace

int hold() {
  signal(SIGPIPE, SIG_IGN);
  Vault vault;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    std::string error;
    std::optional<HoldJob> job = parse(line, error);
    Json answer = {{"version", 1}, {"status", "usage"}, {"message", error}};
    if (job)
      answer = vault.answer(*job);
    std::string text = answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (fwrite(text.data(), 1, text.size(), stdout) != text.size() || fflush(stdout) != 0)
      return exitEnvironment; // no reader is left
  }
  return exitOk;
}

} // namespace kbrun
