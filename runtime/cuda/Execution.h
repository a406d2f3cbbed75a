//===- Execution.h - a plan's steps on a GPU ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the CUDA back end of PlanWalk: memory in a slab, copies, launches, and
// waiting with a deadline. What is checked or timed on the way is the business
// of its users (Run.cpp, Timing.cpp, Profile.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_EXECUTION_H
#define KBRT_CUDA_EXECUTION_H

#include "Handles.h"
#include "SlabLayout.h"
#include "kbrt/CubinTable.h"
#include "kbrt/CudaPlan.h"
#include <chrono>
#include <unordered_map>

namespace kbrt::cuda {

struct LoadedImage::Module {
  Device::Handles *h = nullptr;
  std::string bytes, path;
  CUmodule handle = nullptr;
  /// What the image says of itself, read when a name of a plan is not one of its own.
  std::optional<CubinTable> table;
  std::unordered_map<std::string, CUfunction> functions;
  /// The variables that plans name, with their initial bytes.
  std::unordered_map<std::string, std::pair<CUdeviceptr, std::string>> symbols;

  /// Null if the image has no such kernel, not even under the name that nvcc gives it.
  CUfunction function(const std::string &name);
  bool findVariable(const std::string &name, CUdeviceptr &place, size_t &bytes);
  const CubinTable &getTable();
};

/// Device memory for all buffers of a plan, given back when it goes.
class Slab {
public:
  ~Slab();
  Slab() = default;
  Slab(Slab &&other) noexcept { *this = std::move(other); }
  Slab &operator=(Slab &&other) noexcept;
  /// \p shift bytes are left free at the start, so that instances lie differently.
  bool allocate(Device::Handles &handles, uint64_t bytes, uint64_t shift, Problem &problem);
  /// Memory that is not owned.
  void use(Device::Handles &handles, uint64_t address, uint64_t bytes);
  uint64_t base() const { return address + shift; }
  /// Every byte becomes \p value.
  void wipe(uint8_t value);

private:
  Device::Handles *h = nullptr;
  CUdeviceptr address = 0;
  uint64_t bytes = 0, shift = 0;
  bool isLent = false;
};

/// A plan's uploads kept on the device, so that its runs need not cross the bus again.
class Staging {
public:
  ~Staging();
  Staging() = default;
  Staging(Staging &&other) noexcept { *this = std::move(other); }
  Staging &operator=(Staging &&other) noexcept;
  /// Copies those uploads of \p subject that fit into \p budget bytes together; a run makes the
  /// others itself.
  void add(Device::Handles &handles, const Subject &subject, uint64_t budget);
  /// Copies that are not owned, by step.
  void use(const std::map<size_t, uint64_t> &lent);
  /// 0 if that step's bytes are not there.
  CUdeviceptr find(size_t step) const;

private:
  Device::Handles *h = nullptr;                   // null: they are lent
  std::unordered_map<size_t, CUdeviceptr> copies; // by step
};

class Execution : public PlanWalk {
protected:
  Execution(Device &device, const Subject &subject, const SlabLayout &layout, uint64_t slabBase,
            uint8_t poison, double wallSeconds);

  /// Called before work that the program gave the device to do on its own (launches, and fills and
  /// copies between them), and before work of the host.
  virtual bool beforeDeviceWork(bool isLaunch) { return true; }
  virtual bool beforeHostWork() { return true; }

  bool allocate(uint32_t id) override;
  void release(uint32_t id) override {}
  uint64_t findSymbol(const Buffer &buffer) override;
  bool upload(uint64_t to, const Region &region, std::string_view payload) override;
  bool fill(uint64_t to, const Region &region, uint8_t value) override;
  bool copy(uint64_t to, const Region &toRegion, uint64_t from, const Region &fromRegion) override;
  bool launch(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments) override;
  bool read(uint64_t from, const Region &region, char *into) override;
  bool matmul(const MatmulStep &step, uint64_t a, uint64_t b, uint64_t c) override;

  /// Leaves what the next read step reads at its place in \p memory, and waits for that.
  bool keepRead(const LentMemory &memory, uint64_t from, const Region &region);

  /// Notes the initial bytes of all variables that the plan names; before the first launch.
  void snapshotSymbols();
  /// Puts a launch into the stream.
  bool queue(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments);
  /// Calls \p begins, whose time is not the plan's.
  void takeTurn(const std::function<void()> &begins);
  /// Waits for the stream until the deadline; \p what names what is waited for.
  bool wait(const std::string &what);
  bool check(CUresult code, const std::string &what);
  bool moveRows(CUmemorytype toType, uint64_t to, uint64_t toPitch, CUmemorytype fromType,
                uint64_t from, uint64_t fromPitch, uint64_t width, uint64_t height);

  Device::Handles &h;
  LoadedImage::Module &module;
  const SlabLayout &layout;
  uint64_t slabBase;
  uint8_t poison;
  const Staging *staging = nullptr;
  size_t keptReads = 0; ///< so far, by `keepRead`
  std::string note;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double wallSeconds;
};

/// Every byte of the results' place becomes \p poison.
void wipeResults(Device &device, const LentMemory &memory, uint8_t poison);

} // namespace kbrt::cuda

#endif // KBRT_CUDA_EXECUTION_H
