//===- Dispatch.h - A scheduled kernel beside the original ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the edits that put a generated kernel into a program: its text after the
// original's, and at each launch a choice between the two.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_SCHEDULE_DISPATCH_H
#define KBOPT_REWRITE_SCHEDULE_DISPATCH_H

#include "kb-opt/Rewrite/PassContext.h"
#include "kb-opt/Schedule/GeneratedKernel.h"
#include "kb-opt/Source/Edits.h"

namespace kbopt {

/// A kernel that computes `nest`, which was raised from `instance`.
struct ScheduledKernel {
  kb::KernelOp instance;
  kb::NestOp nest;
  GeneratedKernel generated;
  /// What is launched right after it, with the same arguments: where its last block goes on alone,
  /// or blocks share out sums.
  struct Later {
    kb::NestOp nest;
    GeneratedKernel generated;
  };
  std::vector<Later> later = {};
  /// The variable at a launch that has what `generated.memory` asks for.
  std::string memoryName = "";
};

/// What `dispatchEdits` did.
struct Dispatch {
  Edits edits;
  std::vector<std::string> kernels; ///< names of those that were added
  unsigned launches = 0;            ///< at which the new kernel may run
  unsigned conditional = 0;         ///< of these, where the original may run, too
};

/// Adds \p scheduled, kernels of instances of \p kernel, after its definition and launches them
/// wherever that can be written:
///
///     if (n % 4 == 0 && (size_t)x % 16 == 0)
///       scaleWide<<<(n / 4 + 255) / 256, 256>>>(x, n);
///     else
///       scale<<<(n + 255) / 256, 256>>>(x, n);
///
/// Of several kernels of one instance, which follow each other, the first one whose conditions hold
/// is launched; where a later one could do as well, its `preferences` count as conditions. A kernel
/// that no launch could reach is not added. A condition that the launch proves is left out; without
/// any only the new kernel is launched. Launches that cannot be changed stay as they are; an error
/// is the reason why none can.
llvm::Expected<Dispatch> dispatchEdits(const PassContext &context, const KernelView &kernel,
                                       llvm::ArrayRef<ScheduledKernel> scheduled);

} // namespace kbopt

#endif // KBOPT_REWRITE_SCHEDULE_DISPATCH_H
