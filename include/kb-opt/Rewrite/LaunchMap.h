//===- LaunchMap.h - A candidate's plan without its host run ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the derivation of the plan that a rewritten program makes from the plan that the original
// was recorded with. Where both hosts differ only in what stands in the place of launches, the
// statements that stand there are evaluated with the values that each recorded launch had: which
// kernels they launch, with which shapes and arguments, and what memory they allocate. This takes
// milliseconds, where compiling and running the host takes seconds. Anything that is not certain is
// refused with a reason; running the host answers then.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_LAUNCHMAP_H
#define KBOPT_REWRITE_LAUNCHMAP_H

#include "kb-opt/Source/ParsedProgram.h"
#include "kbrt/Plan.h"

namespace kbopt {

/// How a candidate's host launches where the original's does. Not thread-safe: an AST is not.
class LaunchMap {
public:
  /// \p original and \p candidate outlive the map.
  LaunchMap(const ParsedProgram &original, const ParsedProgram &candidate);
  ~LaunchMap();

  /// Why no plan of the candidate can be derived, whatever was recorded; empty if it may be.
  const std::string &obstacle() const;

  /// The plan that the candidate's host makes where the original's made \p recorded: the same
  /// uploads, reads and other steps, with the candidate's launches and temporary memory in the
  /// place of the original's launches. Its data.bin and observables are those of \p recorded.
  /// Buffers are numbered as a recording would number them; temporaries get free addresses of the
  /// arena. Nothing where that is not certain: \p whyNot then is a sentence without a full stop.
  std::optional<kbrt::Plan> derivePlan(const kbrt::Plan &recorded, std::string &whyNot);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace kbopt

#endif // KBOPT_REWRITE_LAUNCHMAP_H
