//===- CudaScreen.h - plans beside each other, in lent memory ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The public face of what screening asks of a GPU: device memory that one process
// owns and another one uses, results compared where they lie, and two images timed
// in short turns. Needs no header of CUDA. Ownership, and which process runs
// whose code, is the business of tools/kb-run (Vault.h, Screen.h).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDASCREEN_H
#define KBRT_CUDASCREEN_H

#include "kbrt/CudaPlan.h"
#include <array>

namespace kbrt::cuda {

/// Where a plan's uploads and reads lie, one after the other at multiples of 512 bytes, and what
/// its buffers take with their guard zones. Uploads of the same bytes of data.bin share a place.
/// Pure.
struct PlanPlaces {
  std::vector<uint64_t> uploads, reads; ///< offset of each, by its number among its kind
  uint64_t uploadBytes = 0, readBytes = 0, workBytes = 0;
  static PlanPlaces of(const Plan &plan);
};

/// Bytes of the device's memory that is free now; DeviceFacts::freeBytes is of its opening.
uint64_t freeMemory(Device &device);

/// Device memory that this process owns, mapped for itself. The driver's virtual memory management
/// makes it, so that another process can map it as well.
class DeviceBlock {
public:
  enum class Sharing : uint8_t { Private, Shareable };
  /// At least \p bytes. Null and \p problem if there is no memory, or the driver cannot do it.
  static std::unique_ptr<DeviceBlock> create(Device &device, uint64_t bytes, Sharing sharing,
                                             Problem &problem);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock &) = delete;
  DeviceBlock &operator=(const DeviceBlock &) = delete;

  uint64_t address() const { return start; }
  uint64_t bytes() const { return size; }
  /// A descriptor by which another process maps the block; the caller closes it. -1 and \p problem
  /// if the driver gives none, and always for private blocks.
  int share(Problem &problem) const;

  /// Copies \p count bytes of this process into the block, and waits for it.
  bool write(uint64_t offset, const void *from, uint64_t count, Problem &problem);
  /// Copies \p count bytes from \p from, device memory, and waits for it.
  bool copy(uint64_t offset, uint64_t from, uint64_t count, Problem &problem);

private:
  explicit DeviceBlock(Device &device) : device(device) {}
  Device &device;
  uint64_t start = 0, size = 0;
  unsigned long long handle = 0;
};

/// Blocks of another process, mapped where addresses between them lead nowhere. The inputs can be
/// read only: a kernel that writes to them ends with an illegal address.
class LentBlocks {
public:
  enum Block : uint8_t { Results, Inputs, Work };
  static constexpr size_t blocks = 3;
  /// Reserves addresses for blocks of \p bytes (DeviceBlock::bytes); the work block may grow up to
  /// what the device has.
  static std::unique_ptr<LentBlocks>
  reserve(Device &device, const std::array<uint64_t, blocks> &bytes, Problem &problem);
  ~LentBlocks();
  LentBlocks(const LentBlocks &) = delete;
  LentBlocks &operator=(const LentBlocks &) = delete;

  /// Maps what DeviceBlock::share gave, which stays the caller's.
  bool map(Block which, int descriptor, uint64_t bytes, Problem &problem);
  void unmap(Block which);
  uint64_t address(Block which) const { return places[which].address; }
  uint64_t bytes(Block which) const { return places[which].mapped; }

private:
  explicit LentBlocks(Device &device) : device(device) {}
  struct Place {
    uint64_t address = 0, mapped = 0;
  };
  Device &device;
  uint64_t start = 0, size = 0;
  std::array<Place, blocks> places;
};

/// What was found of one result of the original.
struct ReferenceFigures {
  uint64_t finite = 0;     ///< elements; 0 for exact types
  double sumOfSquares = 0; ///< of those
};

/// One result of a candidate against the original's. What the figures are is said at
/// kb-opt/Screen/ScreenDevice.h's OutputMatch. A figure beyond double's range is its largest value.
struct ComparedResult {
  uint64_t elements = 0, differing = 0, otherClass = 0;
  double largestError = 0, relativeL2 = 0;
};

/// Compares device memory with device memory, by kernels of our own.
class ResultComparison {
public:
  static std::unique_ptr<ResultComparison> create(Device &device, Problem &problem);
  ~ResultComparison();
  ResultComparison(const ResultComparison &) = delete;
  ResultComparison &operator=(const ResultComparison &) = delete;

  /// Once for each reference. Addresses are multiples of 16, and up to 15 bytes beyond the last
  /// element are read. Elements of an unknown type are bytes.
  bool measureReference(uint64_t reference, uint64_t bytes, ElementType type,
                        ReferenceFigures &figures, Problem &problem);
  bool compare(uint64_t reference, uint64_t candidate, uint64_t bytes, ElementType type,
               const ReferenceFigures &figures, ComparedResult &result, Problem &problem);

private:
  struct State;
  explicit ResultComparison(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

struct TurnsOptions {
  unsigned mostPairs = 8;
  /// All samples of one image so many times those of the other: enough is known.
  double apartRatio = 1.25;
  uint8_t poison = 0xCB;
  double wallSeconds = 60; ///< for one execution
  /// Called when no other process may use the device any more, after each sample, and at the end.
  std::function<void()> begins = [] {}, between = [] {}, ends = [] {};
};

struct TurnsResult {
  LaunchStatus status = LaunchStatus::Ok;
  std::string message, note;
  std::vector<double> originalUs, candidateUs; ///< of whole plans with cold caches, in order
  bool isOriginals = false;                    ///< whose execution failed
};

/// Times \p candidate against \p original in turns of A B B A, both in lent memory
/// (RunOptions::memory). What the candidate's last execution read lies in the results' block
/// afterwards; of the original nothing is left. Without a candidate (its image is null) the
/// original alone.
TurnsResult timeInTurns(Device &device, const Subject &original, const LentMemory &originalMemory,
                        const Subject &candidate, const LentMemory &candidateMemory,
                        const TurnsOptions &options);

} // namespace kbrt::cuda

#endif // KBRT_CUDASCREEN_H
