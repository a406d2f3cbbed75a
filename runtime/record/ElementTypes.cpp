//===- ElementTypes.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ElementTypes.h"

#include <map>

using namespace kbrt;

namespace {

/// What each buffer was taken for so far.
class BufferTypes {
public:
  explicit BufferTypes(Plan &plan)
      : plan(plan), disputed(plan.buffers.size()), behind(plan.buffers.size()) {}

  void note(uint32_t buffer, ElementType type) {
    if (type == ElementType::Unknown)
      return;
    ElementType &known = plan.buffers[buffer].element;
    if (known != ElementType::Unknown && known != type)
      disputed[buffer] = true;
    known = type;
  }
  /// Pointers in \p buffer lead to memory of that type.
  void noteBehind(uint32_t buffer, ElementType type) {
    if (type != ElementType::Unknown)
      behind[buffer] = type;
  }
  /// What pointers in uploaded memory lead to; then nothing of what is disputed.
  void finish() {
    for (const Step &step : plan.steps)
      if (auto *upload = std::get_if<UploadStep>(&step))
        for (const PointerWord &word : upload->pointers)
          note(word.target.buffer, behind[upload->to.at.buffer]);
    for (size_t i = 0; i < disputed.size(); ++i)
      if (disputed[i])
        plan.buffers[i].element = ElementType::Unknown;
  }

private:
  Plan &plan;
  std::vector<bool> disputed;
  std::vector<ElementType> behind;
};

} // namespace

void kbrt::inferElementTypes(Plan &plan, Backend &backend,
                             const std::vector<DeviceVariable> &variables) {
  std::map<std::string, std::vector<PointeeTypes>> kernels;
  BufferTypes types(plan);
  for (const Step &step : plan.steps) {
    auto *launch = std::get_if<LaunchStep>(&step);
    if (!launch)
      continue;
    auto [entry, isNew] = kernels.try_emplace(launch->kernel);
    if (isNew)
      entry->second = backend.parameterTypes(launch->kernel);
    for (size_t i = 0; i < launch->arguments.size() && i < entry->second.size(); ++i)
      for (const PointerWord &word : launch->arguments[i].pointers) {
        auto pointee = entry->second[i].find(word.at);
        if (pointee == entry->second[i].end())
          continue;
        types.note(word.target.buffer, pointee->second.element);
        types.noteBehind(word.target.buffer, pointee->second.behind);
      }
  }
  for (const DeviceVariable &variable : variables)
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      Buffer &buffer = plan.buffers[i];
      if (buffer.symbol != variable.name)
        continue;
      Pointee told;
      if (auto found = toldTypes().find(variable.name);
          found != toldTypes().end() && !found->second.empty())
        if (auto whole = found->second[0].find(0); whole != found->second[0].end())
          told = whole->second;
      types.noteBehind(i, told.behind);
      if (buffer.element == ElementType::Unknown)
        buffer.element = elementTypeFromCxx(variable.elementType);
      if (buffer.element == ElementType::Unknown)
        buffer.element = told.element;
    }
  types.finish();
}
