//===- HelperKernels.h - our own kernels on the device -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the few kernels that measuring needs: hold the stream, empty the L2
// cache, hash memory, read the clock. Written in PTX, so that they need no
// compiler but the driver's.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_HELPERKERNELS_H
#define KBRT_CUDA_HELPERKERNELS_H

#include "Handles.h"

namespace kbrt::cuda {

/// The PTX text of all helpers.
std::string helperPtx();

/// The SM clock over a short time, and when that was.
struct ClockReading {
  double mhz = 0;
  uint64_t nanoseconds = 0; ///< the device's global timer
};

/// What kb_hash4 (words) and kb_hash1 compute; \p salt tells regions apart.
uint64_t contentHash(std::string_view bytes, uint64_t salt, bool isWords);

class HelperKernels {
public:
  /// The device's helpers with a few words that host and device share, loaded once. Null and
  /// \p problem if they cannot be.
  static HelperKernels *of(Device &device, Problem &problem);
  ~HelperKernels();

  /// From here the stream waits until `release`, at most two seconds.
  void hold();
  void release();
  /// Whether the hold ended by itself since the last call: what it held back was not queued in
  /// time.
  bool timedOut();
  /// Reads a buffer of twice the L2 cache, which leaves nothing else in it and nothing to write
  /// back. False without memory for it.
  bool emptyL2();
  void launchEmpty();
  /// Adds contentHash of device memory to slot \p slot (below hashSlots). Words need an address and
  /// a size that are multiples of 4.
  void hash(uint64_t address, uint64_t bytes, uint64_t salt, unsigned slot, bool isWords);
  static constexpr unsigned hashSlots = 4;
  /// Whether \p kernel has the name of a kernel that `hash` launches.
  static bool isHash(std::string_view kernel) {
    return kernel == "kb_hash4" || kernel == "kb_hash1";
  }
  void clearHashes();
  /// Waits for the stream and reads the slot.
  uint64_t readHash(unsigned slot);
  /// Spins for about 20 us; the reading is there once the stream is done.
  void startClock();
  ClockReading readClock() const;

private:
  static std::shared_ptr<HelperKernels> create(Device &device, Problem &problem);
  explicit HelperKernels(Device &device)
      : h(device.getHandles()), l2Bytes(device.getFacts().l2Bytes) {}
  void launch(CUfunction kernel, unsigned blocks, unsigned threads, void **arguments);

  Device::Handles &h;
  uint64_t l2Bytes;
  CUmodule module = nullptr;
  CUfunction holdKernel = nullptr, flushKernel = nullptr, emptyKernel = nullptr,
             hashWords = nullptr, hashBytes = nullptr, clockKernel = nullptr;
  /// Words in host memory: 0 release, 1 timed out, then four 64-bit readings of the clock.
  volatile uint32_t *shared = nullptr;
  CUdeviceptr sharedOnDevice = 0, flushBuffer = 0, hashes = 0;
  uint64_t flushBytes = 0;
};

} // namespace kbrt::cuda

#endif // KBRT_CUDA_HELPERKERNELS_H
