//===- ComparePtx.h - kernels that compare results, in PTX -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the text of the kernels behind kbrt::cuda::ResultComparison. Every type has
//
//   kb_compare_TYPE(reference, candidate, elements, rms, figures)
//
// which adds to figures: elements with other bits and those of another class (u64),
// sums of (c - r)^2 and of r^2 where c alone is not finite (f64), and takes the
// largest |c - r| / max(|r|, rms) (f64) as a maximum. Floating types have
//
//   kb_squares_TYPE(reference, elements, figures)
//
// which adds the number of finite elements (u64) and the sum of their squares (f64).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_COMPAREPTX_H
#define KBRT_CUDA_COMPAREPTX_H

#include "kbrt/Plan.h"
#include <string>

namespace kbrt::cuda {

/// What `figures` of kb_compare is; all zero before the launch.
struct CompareFigures {
  uint64_t differing = 0, otherClass = 0;
  double squaredError = 0, lostSquares = 0, largestError = 0;
};

/// What `figures` of kb_squares is.
struct SquareFigures {
  uint64_t finite = 0;
  double squares = 0;
};

/// The suffix of the kernels for \p type: "f32"; of exact types "b1" to "b8", by their bytes.
std::string compareSuffix(ElementType type);

/// The text of the kernels for the elements of one suffix.
std::string comparePtx(ElementType type);

} // namespace kbrt::cuda

#endif // KBRT_CUDA_COMPAREPTX_H
