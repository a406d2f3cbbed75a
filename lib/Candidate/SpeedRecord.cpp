//===- SpeedRecord.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/SpeedRecord.h"

using namespace kbopt;
namespace json = llvm::json;

const KernelSpeed *SpeedRecord::find(llvm::StringRef kernel) const {
  auto found = kernels.find(kernel.str());
  return found == kernels.end() ? nullptr : &found->second;
}

json::Object kbopt::metricsJson(const MetricMap &metrics) {
  json::Object object;
  for (const auto &[name, value] : metrics)
    object[name] = value;
  return object;
}

MetricMap kbopt::metricsFrom(const json::Object &object) {
  MetricMap metrics;
  for (const auto &[name, value] : object)
    metrics[name.str()] = value.getAsNumber().value_or(std::numeric_limits<double>::quiet_NaN());
  return metrics;
}

json::Value kbopt::toJSON(const SpeedRecord &record) {
  json::Object object;
  if (record.us) {
    object["us"] = *record.us;
    object["seconds"] = record.seconds;
    object["floorUs"] = record.floorUs;
  } else if (record.longest.empty() && record.degraded.empty() && record.kernels.empty())
    return object; // nothing is known
  object["longest"] = record.longest;
  if (!record.us)
    object["degraded"] = record.degraded;
  json::Object kernels;
  for (const auto &[name, kernel] : record.kernels) {
    json::Object entry{{"us", kernel.us}, {"metrics", metricsJson(kernel.metrics)}};
    if (record.us)
      entry["lines"] = json::Array(kernel.lines);
    if (kernel.launches)
      entry["launches"] = static_cast<int64_t>(kernel.launches);
    kernels[name] = std::move(entry);
  }
  object["kernels"] = std::move(kernels);
  return object;
}

static bool readKernel(const json::Value &value, KernelSpeed &kernel, json::Path path) {
  json::ObjectMapper mapper(value, path);
  if (!mapper || !mapper.map("us", kernel.us) || !mapper.mapOptional("lines", kernel.lines) ||
      !mapper.mapOptional("launches", kernel.launches))
    return false;
  const json::Object *metrics = value.getAsObject()->getObject("metrics");
  if (!metrics) {
    path.field("metrics").report("expected object");
    return false;
  }
  kernel.metrics = metricsFrom(*metrics);
  return true;
}

bool kbopt::fromJSON(const json::Value &value, SpeedRecord &record, json::Path path) {
  json::ObjectMapper mapper(value, path);
  record = SpeedRecord();
  if (!mapper || !mapper.mapOptional("us", record.us) ||
      !mapper.mapOptional("seconds", record.seconds) ||
      !mapper.mapOptional("floorUs", record.floorUs) ||
      !mapper.mapOptional("longest", record.longest) ||
      !mapper.mapOptional("degraded", record.degraded))
    return false;
  const json::Object *kernels = value.getAsObject()->getObject("kernels");
  for (const auto &[name, kernel] : kernels ? *kernels : json::Object())
    if (!readKernel(kernel, record.kernels[name.str()], path.field("kernels").field(name)))
      return false;
  return true;
}
