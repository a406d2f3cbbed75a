//===- LaunchPass.h - Passes that change launches ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what passes have in common whose sites are launches, and whose rewrite is tried to know
// whether it applies.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_SCHEDULE_LAUNCHPASS_H
#define KBOPT_REWRITE_SCHEDULE_LAUNCHPASS_H

#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

class LaunchPass : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override;
  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override;

private:
  /// Whether \p fact is a place for the pass at all. By default every launch is.
  virtual bool isSite(const PassContext &context, const LaunchFact &fact) const { return true; }
  /// The rewrite at \p fact, a launch of \p kernel; an error is the reason why there is none.
  virtual llvm::Expected<Rewrite> rewriteLaunch(const PassContext &context,
                                                const KernelView &kernel,
                                                const LaunchFact &fact) const = 0;
};

} // namespace kbopt

#endif // KBOPT_REWRITE_SCHEDULE_LAUNCHPASS_H
