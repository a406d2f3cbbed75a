//===- ContractionRanking.h - Which tile is best ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what each tile reaches, as measured, and what follows for a launch: the tiles in the order
// in which they are worth trying, and at how many blocks a large tile becomes the better one.
// Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_CONTRACTIONRANKING_H
#define KBOPT_LIB_SCHEDULE_CONTRACTIONRANKING_H

#include "Contraction.h"
#include "kb-opt/Schedule/Estimate.h"

namespace kbopt {

/// The value of \p expr at a launch; nothing if it is not known.
std::optional<int64_t> valueOf(kb::ExprAttr expr, const LaunchSizes &sizes);

/// A tile and the share of the chip's rate that it should reach.
struct RankedShape {
  ContractionShape shape;
  double rate = 0;
};

/// Squares whose sides stand for sizes that are not known: those that fill a chip with large tiles,
/// those that do not, and both.
inline constexpr int64_t largeSides[] = {2048, 4096}, smallSides[] = {1024},
                         usualSides[] = {1024, 2048, 4096};

/// The tiles that fit, best first. Where \p sizes are not known the mean over squares with \p sides
/// counts.
std::vector<RankedShape> rankShapes(const Contraction &contraction, const ChipInfo &chip,
                                    const LaunchSizes &sizes, const Freedom &freedom,
                                    llvm::ArrayRef<int64_t> sides);

/// What a launch takes with the tile of \p schedule: its terms over the rate that the tile reaches.
/// Nothing if a size is not known, or the tile was not measured.
std::optional<LaunchEstimate> estimateContraction(kb::NestOp nest, const Schedule &schedule,
                                                  const LaunchSizes &sizes, const ChipInfo &chip);

/// A tile that is better than another where that would have few blocks.
struct TileForFewBlocks {
  ContractionShape shape;
  int64_t enough = 0; ///< blocks of the other tile from which on that is the better one
};
/// The one beside \p shape for launches of unknown sizes. Nothing if \p shape is the best for few
/// blocks, too.
std::optional<TileForFewBlocks> tileForFewBlocks(const Contraction &contraction,
                                                 const ContractionShape &shape,
                                                 const ChipInfo &chip);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_CONTRACTIONRANKING_H
