//===- HeldProgram.h - plans of a program that is screened -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the recordings of an original or a candidate, one for each set of inputs, and
// whether the two can be compared. Runs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_HELDPROGRAM_H
#define KBRUN_HELDPROGRAM_H

#include "Run.h"
#include "kbrt/CudaScreen.h"

namespace kbrun {

struct HeldSet {
  std::string folder;
  std::unique_ptr<Inputs> inputs;
  kbrt::cuda::PlanPlaces places;
};

struct HeldProgram {
  std::vector<HeldSet> sets;

  /// Reads the recordings in \p folders. False and \p error on failure.
  bool load(const std::vector<std::string> &folders, std::string &error);
  std::vector<std::string> folders() const;
};

/// Upload or read steps, in order.
template <typename Kind> std::vector<const Kind *> stepsOf(const kbrt::Plan &plan) {
  std::vector<const Kind *> steps;
  for (const kbrt::Step &step : plan.steps)
    if (auto *each = std::get_if<Kind>(&step))
      steps.push_back(each);
  return steps;
}

/// What of \p candidate's uploads or reads is not \p original's, as a sentence; empty if all are
/// the same by order, size and, of uploads, content.
std::string whyUnlike(const HeldSet &original, const HeldSet &candidate);
/// The same for all sets; \p set is the first unlike one, and none where their numbers differ.
std::string whyUnlike(const HeldProgram &original, const HeldProgram &candidate,
                      std::optional<size_t> &set);

} // namespace kbrun
#endif
