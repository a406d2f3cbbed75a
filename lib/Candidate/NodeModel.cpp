//===- NodeModel.cpp - Counters and modelled times of nodes ---------------===//
//
// Owns what ProgramEnvironment knows of a program's speed: its counters are taken
// once per machine code, before it is judged, because the roofline may rule it out.
// What a GPU measures is put over it.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Candidate/HotLines.h"
#include "kb-opt/Candidate/MeasuredSpeed.h"
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/Candidate/Shape.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;
namespace json = llvm::json;

/// The hottest lines of \p kernel (mangled), a sentence each.
static json::Array linesJson(const InputFile &input, const RunResult &counted,
                             const ModelledPlan &plan, llvm::StringRef kernel) {
  std::vector<const LaunchRecord *> records;
  const ModelledLaunch *longest = nullptr;
  for (size_t i = 0; i < plan.launches.size(); ++i)
    if (plan.launches[i].kernel == kernel) {
      records.push_back(&counted.launches[i]);
      if (!longest || plan.launches[i].us > longest->us)
        longest = &plan.launches[i];
    }
  std::vector<HotLine> hottest = hotLines(input, records, longest->limiter);
  keepHottest(hottest);
  json::Array lines;
  for (const HotLine &line : hottest)
    lines.push_back(sentence(input, line, measureOf(longest->limiter)));
  return lines;
}

llvm::Expected<json::Value> ProgramEnvironment::computeModel(const ProgramArtefacts &program) {
  TimedPart timed(&tools.timings, "effects", "counters and model");
  auto counted = judgeOf.count(program, countOptions(chip));
  if (!counted)
    return counted.takeError();
  json::Object answer;
  if (counted->status != RunStatus::Ok)
    return json::Value(std::move(answer));
  auto code = judgeOf.code(program);
  if (!code)
    return code.takeError();
  auto modelled = modelPlan(*counted, *code, chip);
  if (!modelled)
    return modelled.takeError();
  answer["us"] = modelled->us;
  answer["seconds"] = counted->wallSeconds;
  answer["floorUs"] = modelled->floorUs;
  answer["longest"] = modelled->longestKernel;
  std::map<std::string, double> timeOf;
  for (const ModelledLaunch &launch : modelled->launches)
    timeOf[launch.kernel] += launch.us * launch.repeats;
  json::Object kernels;
  for (const auto &[kernel, us] : timeOf) {
    json::Object metrics;
    for (const auto &[name, value] : kernelMetrics(*modelled, kernel))
      metrics[name] = value;
    kernels[kernel] = json::Object{{"us", us},
                                   {"metrics", std::move(metrics)},
                                   {"lines", linesJson(tools.input, *counted, *modelled, kernel)}};
  }
  answer["kernels"] = std::move(kernels);
  return json::Value(std::move(answer));
}

/// Where a GPU measures, a candidate is not counted if that took the original longer, in seconds.
static constexpr double longCount = 0.5;

llvm::Expected<json::Object> ProgramEnvironment::model(const ProgramArtefacts &program,
                                                       const Digest &code) {
  // What the CPU device cannot do with the original, or not soon, it is not asked for again.
  if (gpu && program.text != original.text) {
    auto own = judgeOf.code(original);
    if (!own)
      return own.takeError();
    auto first = model(original, codeWithHost(own->digest, rootNode));
    if (!first)
      return first.takeError();
    if (!first->getNumber("us") || first->getNumber("seconds").value_or(0) > longCount)
      return json::Object();
  }
  auto answer = answered("count", request({code}), [&] { return computeModel(program); });
  if (!answer)
    return answer.takeError();
  return std::move(*answer->getAsObject());
}

/// Every kernel of the source that ran, with the metrics and shape of the instance
/// that took most time. \p modelled: by mangled name.
static json::Object kernelsJson(RewriteSession &session, const json::Object &modelled) {
  json::Object kernels;
  for (const KernelFact &fact : findKernels(session.parsed())) {
    double all = 0, most = 0;
    const json::Object *longest = nullptr;
    std::string name;
    for (const KernelFact::Instance &instance : fact.instances) {
      const json::Object *found = modelled.getObject(instance.mangledName);
      if (!found)
        continue;
      double us = found->getNumber("us").value_or(0);
      all += us;
      if (us > most) {
        most = us;
        longest = found;
        name = instance.mangledName;
      }
    }
    if (longest)
      kernels[fact.name] = json::Object{{"us", all},
                                        {"metrics", json::Object(*longest->getObject("metrics"))},
                                        {"shape", shapeOf(session, name)}};
  }
  return kernels;
}

bool ProgramEnvironment::isFastest(double ratio) {
  std::lock_guard<std::mutex> lock(mutex);
  if (ratio <= bestRatio)
    return false;
  bestRatio = ratio;
  return true;
}

/// In the place of counters for a program that is no faster than the fastest one so far, and seldom
/// gone on from: reading them takes longer than measuring, and nobody else may use the device
/// meanwhile. Nothing if they are to be read. Where the shares of the kernels are not modelled,
/// they are the original's.
llvm::Expected<std::optional<json::Object>>
ProgramEnvironment::withoutCounters(const NodeId &id, const TimingReport &timing,
                                    const json::Object &modelled) {
  const json::Object *kernels = modelled.getObject("kernels");
  if (id == rootNode ||
      (timing.cold.decision == TimingDecision::Faster && isFastest(timing.cold.ratio)))
    return std::nullopt;
  const std::string why = "another program is as fast: its counters are not read";
  if (!kernels || kernels->size() != 1) {
    auto own = judgeOf.code(original);
    if (!own)
      return own.takeError();
    auto read = counters(rootNode, original, codeWithHost(own->digest, rootNode));
    if (!read)
      return read.takeError();
    (*read)["degraded"] = why;
    return std::optional<json::Object>(std::move(*read));
  }
  json::Object entry{{"us", 1}, {"metrics", json::Object()}};
  const std::string kernel = kernels->begin()->first.str();
  return std::optional<json::Object>(
      json::Object{{"longest", kernel},
                   {"degraded", why},
                   {"kernels", json::Object{{kernel, std::move(entry)}}}});
}

llvm::Error ProgramEnvironment::addSpeed(const NodeId &id, const ProgramArtefacts &program,
                                         const TimingReport *timing, json::Object &answer) {
  auto code = judgeOf.code(program);
  if (!code)
    return code.takeError();
  Digest key = codeWithHost(code->digest, id);
  auto modelled = model(program, key);
  if (!modelled)
    return modelled.takeError();
  auto modelledUs = modelled->getNumber("us");
  if (!modelledUs && !timing)
    return llvm::make_error<ToolError>("'" + program.name +
                                           "' passes its gates but cannot be counted",
                                       std::vector<std::string>{"kb-run"}, 0, "");
  answer["code"] = code->digest;
  answer["floorUs"] = modelled->getNumber("floorUs").value_or(0);
  json::Object speed;
  if (timing) {
    auto us = acceptedUs(id, *timing);
    if (!us)
      return us.takeError();
    answer["us"] = *us;
    if (modelledUs)
      answer["modelledUs"] = *modelledUs;
    auto counted = withoutCounters(id, *timing, *modelled);
    if (!counted)
      return counted.takeError();
    if (!*counted) {
      auto read = counters(id, program, key);
      if (!read)
        return read.takeError();
      *counted = std::move(*read);
    }
    speed = measuredSpeed(std::move(**counted), std::move(*modelled), *us);
    answer["degraded"] = speed.getString("degraded").value_or("").str();
  } else {
    answer["us"] = *modelledUs;
    speed = std::move(*modelled);
  }
  std::string longest = speed.getString("longest").value_or("").str();
  const json::Object *kernels = speed.getObject("kernels");
  json::Object metrics;
  if (const json::Object *kernel = kernels ? kernels->getObject(longest) : nullptr)
    metrics = *kernel->getObject("metrics");
  answer["metrics"] = std::move(metrics);
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  auto open = session(of);
  if (!open)
    return open.takeError();
  answer["shape"] = longest.empty() ? "" : shapeOf(*open, longest);
  answer["kernels"] = kernels ? kernelsJson(*open, *kernels) : json::Object();
  return llvm::Error::success();
}
