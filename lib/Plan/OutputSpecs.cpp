//===- OutputSpecs.cpp ----------------------------------------------------===//
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
    spec.type = buffer.element;
    // A region that cuts elements in two has no type of its own.
    uint64_t width = kbrt::elementBytes(spec.type);
    if (width && (read->from.at.offset % width || read->from.width % width))
      spec.type = kbrt::ElementType::Unknown;
    specs.push_back(std::move(spec));
  }
  return specs;
}

} // namespace kbopt
