//===- LinesRecord.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/LinesRecord.h"

using namespace kbopt;
namespace json = llvm::json;

json::Value kbopt::toJSON(const LinesRecord &record) {
  json::Object kernels;
  for (const auto &[kernel, lines] : record.kernels)
    kernels[kernel] = json::Object{{"lines", json::Array(lines)}};
  return json::Object{{"kernels", std::move(kernels)}};
}

bool kbopt::fromJSON(const json::Value &value, LinesRecord &record, json::Path path) {
  const json::Object *object = value.getAsObject();
  const json::Object *kernels = object ? object->getObject("kernels") : nullptr;
  if (!kernels) {
    path.field("kernels").report("expected object");
    return false;
  }
  for (const auto &[kernel, entry] : *kernels) {
    json::ObjectMapper mapper(entry, path.field("kernels").field(kernel));
    if (!mapper || !mapper.map("lines", record.kernels[kernel.str()]))
      return false;
  }
  return true;
}
