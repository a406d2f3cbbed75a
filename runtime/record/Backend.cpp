//===- Backend.cpp - What backends have in common ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Backend.h"
#include "Settings.h"

#include <fstream>
#include <iterator>

using namespace kbrt;

std::optional<std::string> kbrt::readImage(const std::string &path, std::string &error) {
  std::ifstream file(path, std::ios::binary);
  if (file)
    return std::string(std::istreambuf_iterator<char>(file), {});
  error = "cannot be opened";
  return std::nullopt;
}

/// KBRECORD_TYPES is `kernelTypesText` of the kernels whose names do not tell all types.
const KernelTypes &kbrt::toldTypes() {
  // Never destroyed: a recording ends after the objects of this library have gone.
  static const auto *told = new KernelTypes(kernelTypesFromText(recorderSetting("TYPES")));
  return *told;
}

std::vector<PointeeTypes> Backend::parameterTypes(const std::string &kernel) {
  const KernelTypes &told = toldTypes();
  auto found = told.find(kernel);
  std::vector<PointeeTypes> types;
  if (found != told.end())
    types = found->second;
  auto named = pointerParameterTypes(kernel);
  if (!named)
    return types;
  types.resize(named->size());
  for (size_t i = 0; i < named->size(); ++i)
    if (types[i].empty() && (*named)[i] != ElementType::Unknown)
      types[i][0].element = (*named)[i];
  return types;
}
