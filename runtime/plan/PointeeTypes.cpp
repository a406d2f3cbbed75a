//===- PointeeTypes.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/PointeeTypes.h"

#include <cstdlib>
#include <sstream>

using namespace kbrt;

std::string kbrt::kernelTypesText(const KernelTypes &types) {
  std::string text;
  for (const auto &[kernel, parameters] : types) {
    text += kernel + "=";
    for (const PointeeTypes &parameter : parameters) {
      for (const auto &[at, pointee] : parameter)
        text += std::to_string(at) + ":" + elementTypeName(pointee.element) + ":" +
                elementTypeName(pointee.behind) + "+";
      text += ",";
    }
    text += ";";
  }
  return text;
}

KernelTypes kbrt::kernelTypesFromText(const std::string &text) {
  KernelTypes all;
  std::istringstream kernels(text);
  for (std::string entry; std::getline(kernels, entry, ';');) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos)
      continue;
    std::istringstream parameters(entry.substr(equals + 1));
    std::vector<PointeeTypes> &types = all[entry.substr(0, equals)];
    for (std::string parameter; std::getline(parameters, parameter, ',');) {
      PointeeTypes &pointers = types.emplace_back();
      std::istringstream words(parameter);
      for (std::string word; std::getline(words, word, '+');) {
        std::istringstream fields(word);
        std::string at, element, behind;
        std::getline(fields, at, ':');
        std::getline(fields, element, ':');
        std::getline(fields, behind, ':');
        pointers[std::strtoull(at.c_str(), nullptr, 10)] = {
            elementTypeFromName(element).value_or(ElementType::Unknown),
            elementTypeFromName(behind).value_or(ElementType::Unknown)};
      }
    }
  }
  return all;
}
