//===- SortedArrays.h - What a host sorts before uploading ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the source tells of arrays that a program puts in order and then uploads.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_SORTEDARRAYS_H
#define KBOPT_CANDIDATE_SORTEDARRAYS_H

#include "kb-opt/Source/ParsedProgram.h"
#include "kbrt/Plan.h"

namespace kbopt {

/// One of them: a variable, a member, or what a function returns.
struct SortedArray {
  std::string name;
  kbrt::ElementType element = kbrt::ElementType::Unknown; ///< of its numbers
};

/// The arrays that the host code of \p program hands to a sort or to the end of a prefix sum of the
/// C++ library, C's or Thrust's, and to a copy as well: under that name, or by pointers,
/// parameters, copies and results that stand for it.
std::vector<SortedArray> sortedArrays(const ParsedProgram &program);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_SORTEDARRAYS_H
