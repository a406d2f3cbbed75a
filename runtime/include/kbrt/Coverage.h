//===- Coverage.h - What of the source was executed -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which source places of an image's main file its runs have executed, and how near they came
// to others.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_COVERAGE_H
#define KBRT_COVERAGE_H

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace kbrt {

class Image;

/// Line and column, from 1.
using SourcePosition = std::pair<uint32_t, uint32_t>;

struct Coverage {
  std::set<SourcePosition> reached;
  /// Of functions some of whose code was executed; none that is reached in another function or
  /// copy.
  std::set<SourcePosition> unreached;
};

/// Of all runs of \p image since it was loaded; empty if it is not built for mode Check or Search.
Coverage coverageOf(const Image &image);

/// How near runs came to a place in Coverage::unreached.
struct NearPlace {
  SourcePosition position;
  uint32_t branches = 1; ///< that lie between what was executed and the place
  /// Of the first of them: by how much the nearest comparison missed (B. Korel, *Automated Software
  /// Test Data Generation*, TSE 1990), and its operands.
  double distance = 0, left = 0, right = 0;
};
/// Of all runs of \p image, which is built for mode Search, since it was loaded; by position.
std::vector<NearPlace> nearPlaces(const Image &image);

} // namespace kbrt

#endif // KBRT_COVERAGE_H
