//===- Tiles.h - Copies of memory in shared arrays --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the step of raising that reads what a block has copied into shared memory from where it came
// from. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_TILES_H
#define KBOPT_LIB_RAISE_TILES_H

#include "Points.h"

namespace kbopt::raise {

/// The threads of a block: as the launch must have them, and as the program numbers them. 0 where
/// the launch may have any number.
struct TileBlock {
  std::array<int64_t, 3> threads = {1, 1, 1}, arranged = {1, 1, 1};
};

/// Removes shared arrays that the threads of a block fill with a function of the element, and read
/// after a barrier:
///
///   tile[ty][tx] = row < m && t * 16 + tx < k ? a[row * k + t * 16 + tx] : 0;
///   __syncthreads();
///   for (i < 16) sum += tile[ty][i] * x[t * 16 + i];
///   __syncthreads();
///
/// becomes a loop over `t * 16 + i < k` that reads `a` itself. \p program must have been read with
/// choices as conditions. Sets `reason` where an array is anything else.
///
/// Why it is right: which thread wrote an element follows from its index, whose digits are the
/// numbers of the thread and of the loops around the store; each element is written by one thread,
/// between two barriers. What it wrote does not change meanwhile, as the kernel does not store to
/// the memory that was copied. The size of a block becomes a number: \p block.
void forwardTiles(ThreadProgram &program, const analysis::LaunchRanges &launches, TileBlock &block);

/// Turns the outputs that a thread computes side by side, in scalars of their own, into loops over
/// rows and columns. Sets `reason` where there are several outputs of another kind.
void rollOutputs(ThreadProgram &program);

/// Drops the conditions of \p body that are among \p known.
void dropKnown(std::vector<Statement> &body, llvm::ArrayRef<Constraint> known);

/// Joins loops over the tiles of a sum, and over the terms of a tile, to one loop over all terms.
/// Terms that only fill the last tile with zeros are left out.
void joinTileLoops(ThreadProgram &program);

/// Numbers the threads of a block along the axes of the grid that they belong to, also in \p
/// launches.
void arrangeBlock(ThreadProgram &program, TileBlock &block, analysis::LaunchRanges &launches);

/// Requires the block that the launch must have, now that points have been formed.
void restoreBlock(ThreadProgram &program, std::vector<Dimension> &dimensions,
                  const TileBlock &block);

/// Removes unread scalars, conditions and loops without a body, and puts scalars that
/// are read once in their place.
void cleanScalars(ThreadProgram &program);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_TILES_H
