//===- Run.cpp - one job in its own process -------------------------------===//
#include "Run.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace kbrun {

using namespace kbrt;
using Json = nlohmann::ordered_json;

namespace {

constexpr int resultVersion = 1;

/// FNV-1a: tells two runs apart, and is the same everywhere.
std::string digestOf(std::string_view bytes) {
  uint64_t hash = 14695981039346656037ull;
  for (unsigned char c : bytes)
    hash = (hash ^ c) * 1099511628211ull;
  char text[17];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

/// The inputs of a job, read once for all repetitions.
struct Inputs {
  Plan plan;
  std::string data;
  std::vector<std::string> overrides;
  std::unique_ptr<Image> image;
};

bool complain(const std::string &message) {
  fprintf(stderr, "kb-run: error: %s\n", message.c_str());
  return false;
}

bool load(const Job &job, Inputs &inputs) {
  std::string error;
  std::optional<Plan> plan = readPlan(job.plan, error);
  if (!plan)
    return complain(error);
  inputs.plan = std::move(*plan);
  std::string dataPath = job.plan + "/" + dataFileName;
  if (std::filesystem::exists(dataPath)) {
    std::optional<std::string> data = readFile(dataPath, error);
    if (!data)
      return complain(error);
    inputs.data = std::move(*data);
  }
  for (const Override &override : job.overrides) {
    const UploadStep *step = override.step < inputs.plan.steps.size()
                                 ? std::get_if<UploadStep>(&inputs.plan.steps[override.step])
                                 : nullptr;
    if (!step)
      return complain("overrides: step " + std::to_string(override.step) +
                      " of the plan is no upload");
    std::optional<std::string> file = readFile(override.file, error);
    if (!file)
      return complain(error);
    if (override.offset + step->to.bytes() > file->size())
      return complain(override.file + ": has no " + std::to_string(step->to.bytes()) +
                      " bytes at offset " + std::to_string(override.offset) + ", which step " +
                      std::to_string(override.step) + " uploads");
    inputs.overrides.push_back(file->substr(override.offset, step->to.bytes()));
  }
  inputs.image = Image::load(job.image, error);
  if (!inputs.image)
    return complain(error);
  if (job.mode && *job.mode != inputs.image->getMode())
    return complain(job.image + ": the image is built for mode " +
                    toString(inputs.image->getMode()) + ", the job asks for " +
                    toString(*job.mode));
  return true;
}

Json launchJson(const Plan &plan, const PlanLaunch &launch) {
  const auto &step = std::get<LaunchStep>(plan.steps[launch.step]);
  Json o = {{"step", launch.step},
            {"repeats", launch.repeats},
            {"kernel", step.kernel},
            {"grid", {step.grid.x, step.grid.y, step.grid.z}},
            {"block", {step.block.x, step.block.y, step.block.z}},
            {"dynamicSharedBytes", step.sharedBytes}};
  o.update(Json::parse(toJson(launch.result)));
  return o;
}

/// The first read step whose bytes differ.
Json differenceJson(const Plan &plan, const std::string &a, const std::string &b,
                    uint32_t repetition) {
  size_t read = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    auto *step = std::get_if<ReadStep>(&plan.steps[i]);
    if (!step)
      continue;
    uint64_t bytes = step->from.bytes(), end = step->observable + bytes;
    if (end > a.size() || end > b.size() ||
        memcmp(&a[step->observable], &b[step->observable], bytes) != 0)
      return {{"repetition", repetition}, {"read", read}, {"step", i}};
    ++read;
  }
  return {{"repetition", repetition}};
}

void track(const Plan &plan, Progress &progress, PlanOptions &options) {
  options.onStep = [&plan, &progress](size_t index) {
    progress.step = index;
    auto *launch = std::get_if<LaunchStep>(&plan.steps[index]);
    snprintf(progress.kernel, sizeof progress.kernel, "%s", launch ? launch->kernel.c_str() : "");
  };
}

bool hasErrors(const PlanResult &result) {
  for (const PlanLaunch &launch : result.launches)
    for (const Finding &finding : launch.result.findings)
      if (finding.severity == Severity::Error)
        return true;
  return false;
}

} // namespace

std::string crashResult(const Progress &progress, const std::string &status,
                        const std::string &message) {
  Json o = {{"version", resultVersion},
            {"status", status},
            {"message", message},
            {"mode", nullptr},
            {"launches", Json::array()}};
  o["crash"] = {{"step", uint64_t(progress.step)},
                {"repetition", uint32_t(progress.repetition)},
                {"kernel", std::string(progress.kernel)}};
  return o.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

ExitStatus runJob(const Job &job, Progress &progress) {
  Inputs inputs;
  if (!load(job, inputs))
    return exitEnvironment;
  PlanOptions options = job.options;
  options.data = inputs.data;
  // Standard output may be the result's.
  options.launch.print = [](std::string_view text) { fwrite(text.data(), 1, text.size(), stderr); };
  for (size_t i = 0; i < job.overrides.size(); ++i)
    options.overrides.emplace_back(job.overrides[i].step, inputs.overrides[i]);
  track(inputs.plan, progress, options);

  PlanResult first = executePlan(inputs.plan, *inputs.image, options);
  Json repetitions = {{"count", 1}, {"identical", true}};
  std::string status = toString(first.status), message = first.message;
  for (uint32_t i = 1; i < job.repetitions && first.status == LaunchStatus::Ok; ++i) {
    progress.repetition = i;
    if (job.varySeed)
      options.launch.seed = job.options.launch.seed + i;
    PlanResult again = executePlan(inputs.plan, *inputs.image, options);
    repetitions["count"] = i + 1;
    if (again.status != LaunchStatus::Ok) {
      status = toString(again.status);
      message = "repetition " + std::to_string(i) + ": " + again.message;
      first.status = again.status;
      break;
    }
    if (again.observables != first.observables) {
      repetitions["identical"] = false;
      repetitions["firstDifference"] =
          differenceJson(inputs.plan, first.observables, again.observables, i);
      break;
    }
  }

  Json result = {{"version", resultVersion},
                 {"status", status},
                 {"message", message},
                 {"mode", toString(inputs.image->getMode())}};
  result["launches"] = Json::array();
  for (const PlanLaunch &launch : first.launches)
    result["launches"].push_back(launchJson(inputs.plan, launch));
  result["observables"] = {{"bytes", first.observables.size()},
                           {"expectedBytes", observableBytes(inputs.plan)},
                           {"digest", digestOf(first.observables)}};
  result["repetitions"] = repetitions;
  result["peakDeviceBytes"] = first.peakDeviceBytes;
  result["wallSeconds"] = first.wallSeconds;

  std::string error;
  if (!job.outputs.empty()) {
    std::error_code code;
    std::filesystem::create_directories(job.outputs, code);
    if (!writeFile(job.outputs + "/" + observablesFileName, first.observables, error)) {
      complain(error);
      return exitEnvironment;
    }
  }
  if (!writeFile(job.result, result.dump(1, ' ', false, Json::error_handler_t::replace) + "\n",
                 error)) {
    complain(error);
    return exitEnvironment;
  }
  bool isClean =
      first.status == LaunchStatus::Ok && !hasErrors(first) && repetitions["identical"] == true;
  return isClean ? exitOk : exitDiagnostics;
}

} // namespace kbrun
