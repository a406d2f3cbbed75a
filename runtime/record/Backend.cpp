//===- Backend.cpp - What backends have in common ---------------------------===//
#include "Backend.h"
#include "Settings.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

using namespace kbrt;

std::optional<std::string> kbrt::readImage(const std::string &path, std::string &error) {
  std::ifstream file(path, std::ios::binary);
  if (file)
    return std::string(std::istreambuf_iterator<char>(file), {});
  error = "cannot be opened";
  return std::nullopt;
}

namespace {

using ParameterTypes = std::map<std::string, std::vector<ElementType>>;

/// KBRECORD_TYPES: "kernel=f32,unknown;other=i32", for kernels whose names do not tell all types.
ParameterTypes toldTypes() {
  std::istringstream kernels(recorderSetting("TYPES"));
  ParameterTypes all;
  for (std::string entry; std::getline(kernels, entry, ';');) {
    size_t equals = std::min(entry.find('='), entry.size());
    std::istringstream types(entry.substr(std::min(equals + 1, entry.size())));
    for (std::string type; std::getline(types, type, ',');)
      all[entry.substr(0, equals)].push_back(
          elementTypeFromName(type).value_or(ElementType::Unknown));
  }
  return all;
}

} // namespace

std::vector<ElementType> Backend::parameterTypes(const std::string &kernel) {
  static const ParameterTypes told = toldTypes();
  auto found = told.find(kernel);
  std::vector<ElementType> more = found == told.end() ? std::vector<ElementType>{} : found->second;
  auto types = pointerParameterTypes(kernel);
  if (!types)
    return more;
  for (size_t i = 0; i < types->size() && i < more.size(); ++i)
    if ((*types)[i] == ElementType::Unknown)
      (*types)[i] = more[i];
  return *types;
}
