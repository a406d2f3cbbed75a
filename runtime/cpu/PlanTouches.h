//===- PlanTouches.h - what the steps of a plan touch -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record of what each step of a plan touches while a check image executes it, and the
// findings about steps in no order.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_PLANTOUCHES_H
#define KBRT_PLANTOUCHES_H

#include "StepConflicts.h"
#include "kbrt/PlanExecutor.h"
#include <memory>
#include <tuple>

namespace kbrt {

class PlanTouches {
public:
  /// \p address: of each buffer of \p plan, while it lives.
  PlanTouches(const Plan &plan, Image &image, const std::vector<uint64_t> &address);

  /// Whether launch \p step is beside another step, so that what it touches counts.
  bool matters(size_t step) const { return isUnordered[step]; }
  /// Whether a launch like it, which \p key tells, was recorded: what it touches then is known.
  bool isKnown(const std::string &key) const { return launches.count(key) != 0; }
  /// Around the execution of a launch that matters.
  void beginLaunch() { touches::begin(); }
  void endLaunch(const std::string &key);
  /// The launch at hand is one like \p key, and was not executed.
  void repeatLaunch(const std::string &key) { current = launches.at(key); }

  /// Memory comes to life at `address[buffer]`.
  void allocated(uint32_t buffer) { places[buffer] = address[buffer]; }
  /// After each step: what is in conflict with it.
  std::vector<Finding> performed(size_t step);

  /// Why not all is known; empty if it is.
  std::string unknown;

private:
  std::optional<touches::Touched> touchedBy(const Step &step);
  uint64_t beginOf(uint32_t buffer) const;
  void addRegion(IntervalSet &set, const Region &region) const;
  void addMatrix(IntervalSet &set, const MatmulStep &step, const MatmulOperand &operand) const;
  void forgetFreed(const Step &step);
  Finding describe(const StepConflict &conflict) const;
  std::string nameOf(size_t step) const;
  std::string placeOf(const StepConflict &conflict) const;
  bool isOnlyStaged(const StepConflict &conflict) const;

  const Plan &plan;
  Image &image;
  const std::vector<uint64_t> &address;
  std::vector<uint64_t> places; ///< of each buffer, also when it is gone
  std::vector<bool> isUnordered;
  bool mattersAtAll = false;
  PlanOrder order;
  StepConflicts conflicts;
  using Shared = std::shared_ptr<const touches::Touched>;
  std::map<std::string, Shared> launches; ///< by LaunchKey, the first of them
  size_t keptIntervals = 0;               ///< of these
  Shared current;                         ///< of the launch at hand
  std::set<std::tuple<std::string, std::string, bool>> described; ///< names, and the severity
};

} // namespace kbrt
#endif
