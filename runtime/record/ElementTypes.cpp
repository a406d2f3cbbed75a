//===- ElementTypes.cpp -----------------------------------------------------===//
#include "ElementTypes.h"

#include <map>

using namespace kbrt;

void kbrt::inferElementTypes(Plan &plan, Backend &backend,
                             const std::vector<DeviceVariable> &variables) {
  std::map<std::string, std::vector<ElementType>> kernels;
  std::vector<bool> disputed(plan.buffers.size());
  for (const Step &step : plan.steps) {
    auto *launch = std::get_if<LaunchStep>(&step);
    if (!launch)
      continue;
    auto [entry, isNew] = kernels.try_emplace(launch->kernel);
    if (isNew)
      entry->second = backend.parameterTypes(launch->kernel);
    for (size_t i = 0; i < launch->arguments.size() && i < entry->second.size(); ++i) {
      ElementType type = entry->second[i];
      if (type == ElementType::Unknown)
        continue;
      for (const PointerWord &word : launch->arguments[i].pointers) {
        ElementType &known = plan.buffers[word.target.buffer].element;
        if (known != ElementType::Unknown && known != type)
          disputed[word.target.buffer] = true;
        known = type;
      }
    }
  }
  for (const DeviceVariable &variable : variables)
    for (Buffer &buffer : plan.buffers)
      if (buffer.symbol == variable.name && buffer.element == ElementType::Unknown)
        buffer.element = elementTypeFromCxx(variable.elementType);
  for (size_t i = 0; i < disputed.size(); ++i)
    if (disputed[i])
      plan.buffers[i].element = ElementType::Unknown;
}
