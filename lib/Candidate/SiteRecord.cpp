//===- SiteRecord.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/SiteRecord.h"

using namespace kbopt;
namespace json = llvm::json;

json::Value kbopt::toJSON(const SiteRecord &record) {
  json::Object values;
  for (const auto &[name, value] : record.values)
    values[name] = value;
  return json::Object{{"pass", record.pass},
                      {"kernel", record.kernel},
                      {"assisted", record.assisted},
                      {"values", std::move(values)},
                      {"choices", json::Array(record.choices)}};
}

bool kbopt::fromJSON(const json::Value &value, SiteRecord &record, json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("pass", record.pass) && mapper.map("kernel", record.kernel) &&
         mapper.map("assisted", record.assisted) && mapper.map("values", record.values) &&
         mapper.map("choices", record.choices);
}
