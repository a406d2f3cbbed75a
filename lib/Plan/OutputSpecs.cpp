//===- OutputSpecs.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/OutputSpecs.h"
#include "kb-opt/Support/Error.h"

using namespace llvm;

namespace kbopt {

Expected<std::vector<OutputSpec>> outputSpecs(StringRef folder) {
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(folder.str(), error);
  if (!plan)
    return make_error<StoreError>(error);
  std::vector<OutputSpec> specs;
  for (const kbrt::Step &step : plan->steps) {
    const auto *read = std::get_if<kbrt::ReadStep>(&step);
    if (!read)
      continue;
    const kbrt::Buffer &buffer = plan->buffers[read->from.at.buffer];
    OutputSpec spec;
    spec.name = buffer.symbol.empty() ? "output " + std::to_string(specs.size()) : buffer.symbol;
    spec.bytes = read->from.bytes();
    spec.type = kbrt::elementOf(*plan, read->from);
    specs.push_back(std::move(spec));
  }
  return specs;
}

} // namespace kbopt
