//===- CpuRuntime.h - executing kernels of a CPU image ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The public face of libkbcpu: load an image, launch its kernels, and learn what
// they did. Free of LLVM; used by kb-run and by the recording runtime.
// Device memory is in Memory.h, plans in PlanExecutor.h, the ABI between device
// code and this library in DeviceAbi.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CPURUNTIME_H
#define KBRT_CPURUNTIME_H

#include "kbrt/Counters.h"
#include "kbrt/Dim3.h"
#include "kbrt/LaunchStatus.h"
#include "kbrt/Memory.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kbrt {

const char *toString(ImageMode mode);

/// A `__device__`, `__constant__` or `__managed__` variable, placed in the arena.
struct SymbolInfo {
  std::string name; ///< as the host registers it
  uint64_t address = 0;
  uint64_t bytes = 0;
  VariableKind kind = VariableKind::Device;
  std::string elementType; ///< "" if unknown
};

/// A loaded image. Kernels and symbols live as long as it does; unloading frees its symbols.
/// Only one image at a time may be loaded per process, because variables are placed by name.
class Image {
public:
  /// Loads the shared object at \p path, places its variables in the arena and initialises them.
  /// Returns null and sets \p error (lower case, no full stop) on failure.
  static std::unique_ptr<Image> load(const std::string &path, std::string &error);
  /// The same for an image linked into this process (tests). \p info outlives the image.
  static std::unique_ptr<Image> fromInfo(const ImageInfo &info, std::string &error);
  ~Image();
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;

  /// The tables: kernels, sites, parameters.
  const ImageInfo &getInfo() const { return info; }
  ImageMode getMode() const { return info.mode; }
  const std::vector<SymbolInfo> &getSymbols() const { return symbols; }

  /// By mangled name, by display name, or by plain name if only one kernel has it; null if none.
  const KernelInfo *findKernel(std::string_view name) const;
  const SymbolInfo *findSymbol(std::string_view name) const;
  /// Puts every variable back to its initial value.
  void resetSymbols();
  /// True if [p, p + bytes) lies in the image's own read-only data or code.
  bool contains(const void *p, uint64_t bytes) const;

private:
  explicit Image(const ImageInfo &info) : info(info) {}
  bool placeSymbols(std::string &error);
  const ImageInfo &info;
  void *handle = nullptr;
  std::vector<SymbolInfo> symbols;
  std::vector<std::pair<uint64_t, uint64_t>> segments;
};

enum class FindingKind : uint8_t {
  OutOfBounds,
  Misaligned,
  RaceGlobal,
  RaceShared,
  RaceWithAtomic, ///< a plain load of global memory, and an atomic operation
  UninitialisedGlobal,
  UninitialisedShared,
  UninitialisedLocal,
  WriteToConstant,
  GuardZoneChanged,  ///< found after the launch (plain mode too)
  ConstInputChanged, ///< a buffer that the kernel takes only by pointer to const (executePlan)
  WeakOrder,         ///< right on this device, and not promised by CUDA; always benign
  Unordered,         ///< two steps of a plan use the same bytes, and neither waits (executePlan)
};
const char *toString(FindingKind kind);

/// Error: the program's result may be wrong. Benign: two threads wrote the same value, or an order
/// is kept by every device and promised by none.
enum class Severity : uint8_t { Error, Benign };
const char *toString(Severity severity);

/// The place in the source, and the thread.
struct AccessPlace {
  uint32_t site = 0;
  std::string access; ///< "load", "store", "atomic"
  std::string file;
  unsigned line = 0, column = 0;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
};

/// One defect, merged over all occurrences with the same sites.
struct Finding {
  FindingKind kind = FindingKind::OutOfBounds;
  Severity severity = Severity::Error;
  std::string kernel;  ///< demangled
  std::string array;   ///< buffer, variable or shared array; may be empty
  std::string message; ///< one sentence without the place
  AccessPlace place;
  std::optional<AccessPlace> other; ///< the other party of a race
  uint64_t address = 0;             ///< of the first occurrence
  uint64_t offset = 0;              ///< bytes from the start of the array
  unsigned bytes = 0;
  uint64_t count = 1; ///< occurrences
};

struct LaunchOptions {
  /// Order of threads and blocks: 0 is natural order; anything else shuffles by this seed.
  uint64_t seed = 0;
  /// Shared memory holds this byte before each block.
  uint8_t sharedPoison = 0xCD;
  /// The launch ends as Timeout after this many seconds of wall time; 0 is no limit.
  double wallSeconds = 0;
  /// Direction of floating-point rounding: FE_TONEAREST and its kin of <cfenv>.
  int rounding = 0;
  /// Count mode: at most this many blocks are counted, evenly spread over the grid; 0 is all.
  /// Blocks that are not sampled are executed without being counted.
  uint32_t sampledBlocks = 8;
  /// L1 and L2 capacities that the traffic estimate assumes, in bytes.
  uint64_t l1Bytes = 128 << 10, l2Bytes = uint64_t(50) << 20;
  /// At most this many distinct findings are kept per launch.
  uint32_t maxFindings = 64;
  /// The largest dynamic + static shared memory per block, in bytes (227 KiB on Hopper).
  uint64_t maxSharedBytes = 232448;
  /// Compare the guard zones of all buffers after the launch (plain and check mode).
  bool checkGuards = true;
  /// Receives what kernels print; default is stdout.
  std::function<void(std::string_view)> print;
};

struct LaunchResult {
  LaunchStatus status = LaunchStatus::Ok;
  std::string message;           ///< empty when Ok; names kernel, block, thread, source line
  std::vector<Finding> findings; ///< check images only
  std::optional<KernelCounters> counters; ///< count images only
  std::vector<std::string> notes;         ///< what could not be checked or counted, and why
  double wallSeconds = 0;
};

/// Runs \p kernel of \p image to its end. \p args points to one pointer per parameter, as for
/// cudaLaunchKernel. Never throws; a crash of kernel code becomes a Fault and leaves device memory
/// as it was at that moment (the process should not launch again, as with a sticky CUDA error).
/// Serialised by a process-wide lock.
LaunchResult launch(Image &image, const KernelInfo &kernel, void *const *args, Dim3 grid,
                    Dim3 block, uint64_t dynamicSharedBytes, const LaunchOptions &options = {});

/// Holds the lock under which device memory and launches are used; recursive.
class DeviceLock {
public:
  DeviceLock();
  ~DeviceLock();
  DeviceLock(const DeviceLock &) = delete;
  DeviceLock &operator=(const DeviceLock &) = delete;
};

/// One line for people: "out-of-bounds store in k(float*) at a.cu:12: ...".
std::string toText(const Finding &finding);
/// JSON objects described in docs/JobFormat.md.
std::string toJson(const Finding &finding, int indent = -1);
std::string toJson(const LaunchResult &result, int indent = -1);

} // namespace kbrt
#endif
