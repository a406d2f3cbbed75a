//===- GeneratedMain.h - A main for an entry function or kernel -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the text of the driver that allocates, fills, calls and copies back, so
// that entries and kernels are recorded the same way as whole programs.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_GENERATEDMAIN_H
#define KBOPT_PLAN_GENERATEDMAIN_H

#include "kb-opt/Plan/Workload.h"

namespace kbopt {

/// Where the buffers on the device lie that a generated driver hands over.
enum class BufferLayout : uint8_t {
  Separate,    ///< each in an allocation of its own
  Misaligned,  ///< each one element behind an allocation's start
  Overlapping, ///< outputs in the place of inputs, see `overlappingBuffers`
};

/// An output of \p workload and the input whose memory it may have: of the same type
/// and at least as large. Pointers that \p signature declares `__restrict__` have none.
struct OverlappingPair {
  size_t output, input; ///< indices of parameters
};
llvm::Expected<std::vector<OverlappingPair>>
overlappingBuffers(const Workload &workload, const Signature &signature, const SizeMap &sizes);

/// One call of the entry.
struct DriverCall {
  SizeMap sizes;
  uint64_t seed = 1;
  /// Scalars that the workload writes as numbers have others.
  bool otherScalars = false;
};

/// What a generated program does when it is run: one call after the other on the same buffers, each
/// filled anew before its call and read back after it.
struct DriverRun {
  std::vector<DriverCall> calls;
  BufferLayout layout = BufferLayout::Separate;
  /// Streams that the entry takes are one that does not wait for others.
  bool ownStream = false;
  /// Buffers are not filled, nothing is read back, and errors are ignored: for runs of
  /// which the calls alone count.
  bool isDry = false;
};

/// The first word of each line in which a generated program says what a call returned or left in
/// host memory: `kb-result NAME HASH VALUE…`.
inline constexpr const char *hostResultWord = "kb-result";

/// Bytes of all buffers of a call at \p sizes, on the device and on the host. Fails as
/// `generateMain` does, and where an `int` does not count the elements of one of them.
llvm::Expected<uint64_t> bufferBytes(const Workload &workload, const Signature &signature,
                                     const SizeMap &sizes);

/// Whether \p workload has scalars for DriverCall::otherScalars; streams for DriverRun::ownStream.
bool hasOtherScalars(const Workload &workload);
bool takesStream(const Workload &workload, const Signature &signature);

/// The text of a CUDA C++ file that includes \p sourcePath and makes one of \p runs, by the number
/// that is its first argument (0 without one): fills the buffers of \p workload at the call's sizes
/// from its seed (the same bytes on every machine), calls the entry or launches the kernel, and
/// copies every `out` and `inout` buffer back, in the order of the parameters. A `main` of the
/// source is renamed. \p workload must have passed `checkWorkload` against \p signature.
/// Fails with a `UsageError` naming the parameter if an expression does not
/// evaluate, a shape is negative, or a grid is empty.
llvm::Expected<std::string> generateMain(const Workload &workload, const Signature &signature,
                                         llvm::StringRef sourcePath,
                                         llvm::ArrayRef<DriverRun> runs);
/// A single call.
llvm::Expected<std::string> generateMain(const Workload &workload, const Signature &signature,
                                         llvm::StringRef sourcePath, const SizeMap &sizes,
                                         uint64_t seed,
                                         BufferLayout layout = BufferLayout::Separate);

} // namespace kbopt

#endif // KBOPT_PLAN_GENERATEDMAIN_H
