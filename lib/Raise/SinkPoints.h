//===- SinkPoints.h - Dimensions of points as inner ones --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is the same for all points along some dimensions: which scalars those are, and making
// these dimensions inner ones that stand after them. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_SINKPOINTS_H
#define KBOPT_LIB_RAISE_SINKPOINTS_H

#include "kb-opt/IR/Kb.h"
#include <set>
#include <string>

namespace kbopt::raise {

/// The statements of a nest that each point runs: those at the top, then those under a condition at
/// the end of them, and so on.
class PointBlocks {
public:
  explicit PointBlocks(kb::NestOp nest);

  /// `whens[i]` is the condition around `blocks[i + 1]`.
  llvm::SmallVector<mlir::Block *> blocks;
  llvm::SmallVector<kb::WhenOp> whens;

  /// Scalars of which the values differ along the dimensions \p sunk, or may.
  std::set<std::string> dependent(const std::set<std::string> &sunk) const;
  /// Whether \p op does the same at all points along \p sunk, and could be run once for all of
  /// them.
  bool isSame(mlir::Operation *op, const std::set<std::string> &sunk,
              const std::set<std::string> &dependent) const;
  bool isStored(kb::BaseAttr base) const;

private:
  kb::NestOp nest;
};

/// Makes the dimensions \p sunk of \p nest inner ones after everything that is the same along them.
/// Empty, or why that cannot be; then \p nest is broken.
std::string sinkPoints(kb::NestOp nest, const std::set<std::string> &sunk);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_SINKPOINTS_H
