//===- AccessQueries.h - What an access costs -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the questions about one access: stride per lane, bytes and sectors per
// request, bank conflicts, reuse between threads.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ANALYSIS_ACCESSQUERIES_H
#define KBOPT_ANALYSIS_ACCESSQUERIES_H

#include "kb-opt/IR/Kb.h"
#include "llvm/ADT/StringMap.h"
#include <array>

namespace kbopt {

/// What is known about one launch: values that the symbols of the index space
/// take. Missing ones are unknown.
struct LaunchValues {
  std::array<std::optional<int64_t>, 3> block, grid;
  llvm::StringMap<int64_t> symbols; ///< by name

  /// The constants of \p launch: block and grid dimensions.
  static LaunchValues of(kb::LaunchOp launch);
  /// What all launches of \p kernel agree on; launch bounds are not used.
  static LaunchValues common(kb::KernelOp kernel);
};

/// How the address moves from one lane (tid.x, or tid.y or tid.z) to the next.
enum class StrideClass {
  Uniform,  ///< all lanes at one address
  Unit,     ///< consecutive lanes at consecutive elements
  Constant, ///< a constant number of bytes, not the element size
  Symbolic, ///< the same for all lanes, but not a known number
  Unknown,
};

/// "uniform", "unit", "constant", "symbolic", "unknown".
llvm::StringRef strideClassName(StrideClass stride);

struct LaneStride {
  StrideClass kind = StrideClass::Unknown;
  int64_t bytes = 0; ///< for Uniform (0), Unit and Constant
  std::string text;  ///< for Symbolic: `n * 4`, in the names of the index space
};

/// The stride of \p access along threadIdx.x (0), y (1) or z (2), with
/// everything else held.
LaneStride laneStride(kb::AccessOp access, unsigned dimension = 0, const LaunchValues &values = {});
/// The stride of \p access from one iteration of the loop named \p loop to the
/// next; Uniform if the address does not change.
LaneStride loopStride(kb::AccessOp access, llvm::StringRef loop, const LaunchValues &values = {});

/// What one warp-wide request moves. Sectors are 32 bytes, a warp has 32 lanes,
/// shared memory has 32 banks of 4 bytes (CUDA C++ Programming Guide, "Compute
/// Capability 5.x and later").
struct RequestCost {
  unsigned lanes = 0;          ///< threads of the warp that exist
  uint64_t bytesRequested = 0; ///< lanes times bytes per lane
  uint64_t bytesDistinct = 0;  ///< without the bytes that several lanes share
  unsigned sectors = 0;        ///< distinct sectors
  unsigned idealSectors = 0;   ///< bytesDistinct over 32, rounded up
  /// Shared memory: times the banks must be visited; 1 is conflict-free. Lanes
  /// that read the same word share a visit; 8 and 16 byte accesses are served by
  /// half and quarter warps.
  unsigned wavefronts = 0;
  unsigned idealWavefronts = 0;
};

/// The cost of \p access for warp \p warp of the block, all lanes active, in
/// block 0 and the first iteration, base and unknown uniform offsets aligned to
/// 256 bytes. Unknown if block dimensions or a symbol that matters to the lanes
/// is missing, or the address is not affine. Block dimensions that are not
/// known but do not matter (all lanes differ in tid.x only if bdim.x >= 32) must
/// be given by the caller.
std::optional<RequestCost> requestCost(kb::AccessOp access, const LaunchValues &values,
                                       unsigned warp = 0);

/// The cost of \p access for the lanes that take part in it: those that its domain rules out
/// (`if (threadIdx.x < 8)`) are left out, and those of which that is not known are counted. Of the
/// warps of a block, the first in which most lanes take part. Unknown if no lane does, and where
/// `requestCost` is unknown.
std::optional<RequestCost> activeRequestCost(kb::AccessOp access, const LaunchValues &values);

/// The same if every row of \p rowBytes of the array were \p padBytes longer. The parts of the
/// address that no thread index changes are taken to be whole rows.
std::optional<RequestCost> paddedRequestCost(kb::AccessOp access, const LaunchValues &values,
                                             int64_t rowBytes, int64_t padBytes);

/// How many threads of a block touch the same element, on average; unknown
/// without block dimensions.
std::optional<double> threadsPerElement(kb::AccessOp access, const LaunchValues &values);

/// Distinct bytes that the threads of one block touch through \p access in one
/// iteration of its loops.
std::optional<uint64_t> footprintPerBlock(kb::AccessOp access, const LaunchValues &values);

/// \p expr at a point: dims and symbols by name, missing ones unknown.
std::optional<int64_t> evaluate(kb::ExprAttr expr, const llvm::StringMap<int64_t> &point);

} // namespace kbopt

#endif // KBOPT_ANALYSIS_ACCESSQUERIES_H
