//===- ElementTypes.cpp -----------------------------------------------------===//
#include "ElementTypes.h"

#include <map>

using namespace kbrt;

namespace {

using Types = std::vector<ElementType>;

Types parameterTypes(const std::string &kernel, const Image &image) {
  Types types = pointerParameterTypes(kernel).value_or(Types{});
  const KernelInfo *info = image.findKernel(kernel);
  if (!info)
    return types;
  types.resize(info->paramCount, ElementType::Unknown);
  for (uint32_t i = 0; i < info->paramCount; ++i)
    if (const ParamInfo &param = info->params[i]; param.isPointer && param.elementType)
      if (auto type = elementTypeFromCxx(param.elementType); type != ElementType::Unknown)
        types[i] = type;
  return types;
}

} // namespace

void kbrt::inferElementTypes(Plan &plan, const Image &image) {
  std::map<std::string, Types> kernels;
  std::vector<bool> disputed(plan.buffers.size());
  for (const Step &step : plan.steps) {
    auto *launch = std::get_if<LaunchStep>(&step);
    if (!launch)
      continue;
    auto [entry, isNew] = kernels.try_emplace(launch->kernel);
    if (isNew)
      entry->second = parameterTypes(launch->kernel, image);
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
  for (const SymbolInfo &symbol : image.getSymbols())
    for (Buffer &buffer : plan.buffers)
      if (buffer.symbol == symbol.name && buffer.element == ElementType::Unknown)
        buffer.element = elementTypeFromCxx(symbol.elementType);
  for (size_t i = 0; i < disputed.size(); ++i)
    if (disputed[i])
      plan.buffers[i].element = ElementType::Unknown;
}
