//===- SiteRecord.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/SiteRecord.h"

using namespace kbopt;
namespace json = llvm::json;

json::Value kbopt::toJSON(const SiteRecord &record) {
  json::Object values;
  for (const auto &[name, value] : record.values)
    values[name] = value;
  auto figures = [](const std::map<std::string, double> &byName) {
    json::Object object;
    for (const auto &[name, value] : byName)
      object[name] = value;
    return object;
  };
  return json::Object{{"pass", record.pass},
                      {"kernel", record.kernel},
                      {"assisted", record.assisted},
                      {"values", std::move(values)},
                      {"choices", json::Array(record.choices)},
                      {"nest", figures(record.facts.figures)},
                      {"estimatesUs", figures(record.facts.estimatesUs)}};
}

bool kbopt::fromJSON(const json::Value &value, SiteRecord &record, json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("pass", record.pass) && mapper.map("kernel", record.kernel) &&
         mapper.map("assisted", record.assisted) && mapper.map("values", record.values) &&
         mapper.map("choices", record.choices) && mapper.map("nest", record.facts.figures) &&
         mapper.map("estimatesUs", record.facts.estimatesUs);
}
