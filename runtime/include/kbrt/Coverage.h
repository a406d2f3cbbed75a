//===- Coverage.h - What of the source was executed -------------*- C++ -*-===//
//
// Owns which source places of an image's main file its runs have executed.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_COVERAGE_H
#define KBRT_COVERAGE_H

#include <cstdint>
#include <set>
#include <utility>

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

/// Of all runs of \p image since it was loaded; empty if it is not built for mode Check.
Coverage coverageOf(const Image &image);

} // namespace kbrt

#endif // KBRT_COVERAGE_H
