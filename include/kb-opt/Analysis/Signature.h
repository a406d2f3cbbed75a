//===- Signature.h - A kernel in a few numbers ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the static signature: what the policy can know of a kernel before it
// has run.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ANALYSIS_SIGNATURE_H
#define KBOPT_ANALYSIS_SIGNATURE_H

#include "kb-opt/Analysis/AccessQueries.h"
#include <map>

namespace kbopt {

/// Counts are static: per operation in the kernel text, weighted by the
/// constant trip counts of the loops around it (an unknown one counts as 1).
struct StaticSignature {
  unsigned loads = 0, stores = 0, atomics = 0; ///< global and generic
  unsigned storesInLoops = 0;                  ///< of `stores`
  unsigned sharedLoads = 0, sharedStores = 0;
  unsigned unitStride = 0, uniformStride = 0, constantStride = 0, symbolicStride = 0,
           unknownStride = 0; ///< global and generic accesses
  unsigned barriers = 0, shuffles = 0, mmas = 0, opaque = 0, calls = 0;
  unsigned loops = 0, maxLoopDepth = 0, constantLoops = 0;
  unsigned uniformBranches = 0, divergentBranches = 0;
  uint64_t sharedBytes = 0; ///< static
  bool dynamicShared = false;
  std::map<std::string, double> operations; ///< by class, see kb.compute
  double flops = 0;                         ///< fused multiply-adds count two
  double bytes = 0;                         ///< global and generic
  bool complete = true;                     ///< no unknown trip count was met

  /// flops over bytes; 0 where there are no bytes.
  double arithmeticIntensity() const { return bytes > 0 ? flops / bytes : 0; }
};

StaticSignature staticSignature(kb::KernelOp kernel);

} // namespace kbopt

#endif // KBOPT_ANALYSIS_SIGNATURE_H
