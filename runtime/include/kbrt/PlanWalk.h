//===- PlanWalk.h - executing a plan, whatever the device --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the walk over a plan's steps: payloads, pointers put where the device's
// memory lies, the observables. What memory and a launch are is the device's:
// runtime/cpu and runtime/cuda derive from this class.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_PLANWALK_H
#define KBRT_PLANWALK_H

#include "kbrt/LaunchStatus.h"
#include "kbrt/Repetition.h"
#include <functional>
#include <utility>

namespace kbrt {

/// The bytes that a plan's uploads need, and what watches. Nothing is owned.
struct PlanInputs {
  /// data.bin, as read or mapped; empty is allowed if the plan uploads nothing.
  std::string_view data;
  /// Replaces the payload of an upload step: step index and bytes (as many as the step has).
  std::vector<std::pair<uint32_t, std::string_view>> overrides;
  /// Called before every step with its index; progress and crash reports.
  std::function<void(size_t step)> onStep;
};

/// A plan's execution, once. Every operation answers whether to go on; it calls `fail` if not.
class PlanWalk {
public:
  virtual ~PlanWalk() = default;

protected:
  PlanWalk(const Plan &plan, const PlanInputs &inputs)
      : plan(plan), inputs(inputs), address(plan.buffers.size(), 0) {}

  /// Performs the steps in order, up to the first that fails.
  bool walk();

  /// Notes the first failure; returns false.
  bool fail(LaunchStatus status, std::string message);

  // What a device does. Addresses are the device's; regions say how rows lie.
  /// Memory for plan.buffers[id], to be put into address[id].
  virtual bool allocate(uint32_t id) = 0;
  /// Gives back the memory at address[id].
  virtual void release(uint32_t id) = 0;
  /// Where the image's variable lies; 0 after `fail`.
  virtual uint64_t findSymbol(const Buffer &buffer) = 0;
  virtual bool upload(uint64_t to, const Region &region, std::string_view payload) = 0;
  virtual bool fill(uint64_t to, const Region &region, uint8_t value) = 0;
  virtual bool copy(uint64_t to, const Region &toRegion, uint64_t from,
                    const Region &fromRegion) = 0;
  /// \p arguments hold the bytes of each argument with the device's addresses.
  virtual bool launch(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments) = 0;
  /// \p into is null where `keepsObservables` is false.
  virtual bool read(uint64_t from, const Region &region, char *into) = 0;
  virtual bool matmul(const MatmulStep &step, uint64_t a, uint64_t b, uint64_t c) = 0;
  /// Steps that only order others.
  virtual bool order(const Step &step) { return true; }

  /// Called when \p step has been performed; answers whether to go on.
  virtual bool performed(const Step &step) { return true; }

  /// Asked before every period of a repetition from the second on, when \p periods of them are
  /// done: whether all further ones may be left out. What they read is what the last period read.
  virtual bool endsAfter(const Repetition &repetition, size_t periods) { return false; }
  /// For each step that is left out: step \p like of the last period did the same.
  virtual bool repeat(size_t step, size_t like) { return true; }

  const Plan &plan;
  const PlanInputs &inputs;
  std::vector<uint64_t> address; ///< of each buffer; 0 while it does not live
  size_t index = 0;              ///< of the step at hand
  LaunchStatus status = LaunchStatus::Ok;
  std::string message;
  /// Whether what the plan reads is gathered in `observables`: it may be many times what the device
  /// holds.
  bool keepsObservables = true;
  std::string observables;
  /// Of which `endsAfter` is asked, in order.
  std::vector<Repetition> repetitions;

private:
  /// Leaves out what is left of \p repetition after \p periods periods.
  bool leaveOut(const Repetition &repetition, size_t periods);
  bool perform(const Step &step);
  bool performUpload(const UploadStep &step);
  bool performLaunch(const LaunchStep &step);
  bool performRead(const ReadStep &step);
  bool performMatmul(const MatmulStep &step);
  /// The device address of \p at, or nothing after `fail`.
  std::optional<uint64_t> resolve(const Location &at);
  /// Puts the device's addresses over the recorded ones.
  bool relocate(char *bytes, size_t count, const std::vector<PointerWord> &pointers);
  /// The recorded payload, or what replaces it; nothing after `fail`.
  std::optional<std::string_view> payloadOf(const UploadStep &step);
};

} // namespace kbrt

#endif // KBRT_PLANWALK_H
