//===- TensorMapText.h - Tensor maps of a launch as C++ text ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the host functions by which a launch encodes tensor maps for a kernel that copies tiles by
// them, and the calls of these functions. Plain text.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCHEDULE_TENSORMAPTEXT_H
#define KBOPT_SCHEDULE_TENSORMAPTEXT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

/// Names of the functions end so: the first one gives the map, whose first word is zero where the
/// driver refuses it, the other one tells whether there is one.
inline constexpr llvm::StringLiteral tensorMapSuffix = "TensorMap",
                                     hasTensorMapSuffix = "HasTensorMap";

/// Their definitions, with names that begin with \p name.
std::string tensorMapFunctions(llvm::StringRef name);

/// A matrix of rows of neighbouring elements, or several of them, from which boxes of \p boxOuter
/// rows of 64 elements are copied. Expressions of the host.
struct TensorMapText {
  std::string first;                  ///< where it begins
  std::string type;                   ///< an enumerator of CUtensorMapDataType, of 2 bytes
  std::string inner, outer, batches;  ///< extents
  std::string outerBytes, batchBytes; ///< between rows, and between matrices
  std::string boxOuter;
  /// `nameTensorMap(first, …)`, with \p name and one of the suffixes.
  std::string call(llvm::StringRef name, llvm::StringRef suffix) const;
};

} // namespace kbopt

#endif // KBOPT_SCHEDULE_TENSORMAPTEXT_H
