//===- Transpose.h - Maps that read along one dimension ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question between which dimensions a transpose goes. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_TRANSPOSE_H
#define KBOPT_LIB_SCHEDULE_TRANSPOSE_H

#include "kb-opt/IR/Kb.h"
#include <optional>

namespace kbopt {

/// The dimensions along which a transpose reads, and writes, neighbouring elements.
struct TransposedDims {
  std::string reads, writes;
};
/// Those of \p nest; nothing if it is no transpose.
std::optional<TransposedDims> transposedDims(kb::NestOp nest);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_TRANSPOSE_H
