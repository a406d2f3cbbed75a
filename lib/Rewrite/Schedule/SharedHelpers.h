//===- SharedHelpers.h - Functions that several kernels call ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns that kernels which stand side by side have each helper once. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_SHAREDHELPERS_H
#define KBOPT_LIB_REWRITE_SCHEDULE_SHAREDHELPERS_H

#include "kb-opt/Schedule/GeneratedKernel.h"
#include <map>

namespace kbopt {

class SharedHelpers {
public:
  /// The definition of \p kernel without the helpers that kernels before it have under other names,
  /// which it calls instead.
  std::string definitionOf(const GeneratedKernel &kernel);

private:
  std::map<std::string, std::string> known; ///< names by text, with a placeholder for the name
};

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_SHAREDHELPERS_H
