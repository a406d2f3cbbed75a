//===- JudgementRecord.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/JudgementRecord.h"
#include "kb-opt/Candidate/SpeedRecord.h"

using namespace kbopt;
namespace json = llvm::json;

static void writeSpeed(const JudgedSpeed &speed, json::Object &object) {
  object["code"] = speed.code;
  object["us"] = speed.us;
  object["floorUs"] = speed.floorUs;
  if (speed.modelledUs > 0)
    object["modelledUs"] = speed.modelledUs;
  if (!speed.degraded.empty())
    object["degraded"] = speed.degraded;
  if (speed.launches) {
    object["kernelsUs"] = speed.kernelsUs;
    object["launches"] = static_cast<int64_t>(speed.launches);
  }
  object["metrics"] = metricsJson(speed.metrics);
  object["shape"] = speed.shape;
  json::Object kernels;
  for (const auto &[name, kernel] : speed.kernels)
    kernels[name] = json::Object{
        {"us", kernel.us}, {"metrics", metricsJson(kernel.metrics)}, {"shape", kernel.shape}};
  object["kernels"] = std::move(kernels);
}

json::Value kbopt::toJSON(const JudgementRecord &record) {
  json::Object object{{"verdict", toJSON(record.verdict)}};
  if (record.speed)
    writeSpeed(*record.speed, object);
  return object;
}

/// The metrics that \p value has beside other figures.
static bool readMetrics(const json::Value &value, MetricMap &metrics, json::Path path) {
  const json::Object *object = value.getAsObject()->getObject("metrics");
  if (!object) {
    path.field("metrics").report("expected object");
    return false;
  }
  metrics = metricsFrom(*object);
  return true;
}

static bool readKernel(const json::Value &value, JudgedKernel &kernel, json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("us", kernel.us) && mapper.map("shape", kernel.shape) &&
         readMetrics(value, kernel.metrics, path);
}

static bool readSpeed(const json::Value &value, JudgedSpeed &speed, json::Path path) {
  json::ObjectMapper mapper(value, path);
  if (!mapper || !mapper.map("code", speed.code) || !mapper.map("us", speed.us) ||
      !mapper.map("floorUs", speed.floorUs) ||
      !mapper.mapOptional("modelledUs", speed.modelledUs) ||
      !mapper.mapOptional("kernelsUs", speed.kernelsUs) ||
      !mapper.mapOptional("launches", speed.launches) ||
      !mapper.mapOptional("degraded", speed.degraded) || !mapper.map("shape", speed.shape) ||
      !readMetrics(value, speed.metrics, path))
    return false;
  const json::Object *kernels = value.getAsObject()->getObject("kernels");
  for (const auto &[name, kernel] : kernels ? *kernels : json::Object())
    if (!readKernel(kernel, speed.kernels[name.str()], path.field("kernels").field(name)))
      return false;
  return true;
}

bool kbopt::fromJSON(const json::Value &value, JudgementRecord &record, json::Path path) {
  json::ObjectMapper mapper(value, path);
  record = JudgementRecord();
  if (!mapper || !mapper.map("verdict", record.verdict))
    return false;
  if (!record.verdict.isCorrect())
    return true;
  return readSpeed(value, record.speed.emplace(), path);
}
