//===- Parameters.h - Neighbours among a pass's options ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_POLICY_PARAMETERS_H
#define KBOPT_LIB_POLICY_PARAMETERS_H

#include "kb-opt/Policy/Environment.h"
#include "llvm/ADT/STLExtras.h"

namespace kbopt {

using Parameters = std::map<std::string, std::string>;

/// \p from with one option one place down or up, in the order of \p ranges.
inline std::vector<Parameters> neighbours(const Parameters &from,
                                          llvm::ArrayRef<ParameterRange> ranges) {
  std::vector<Parameters> result;
  for (const ParameterRange &range : ranges) {
    auto current = from.find(range.name);
    if (current == from.end())
      continue;
    auto at = llvm::find(range.values, current->second);
    if (at == range.values.end())
      continue;
    auto take = [&](const std::string &value) {
      result.push_back(from);
      result.back()[range.name] = value;
    };
    if (at != range.values.begin())
      take(*std::prev(at));
    if (std::next(at) != range.values.end())
      take(*std::next(at));
  }
  return result;
}

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_PARAMETERS_H
