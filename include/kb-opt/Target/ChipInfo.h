//===- ChipInfo.h - Facts about one GPU -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the figures that analyses, the cost model and the policy use about a
// chip. They live in knowledge/devices/*.json, each with its source; nothing
// here is measured at run time.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TARGET_CHIPINFO_H
#define KBOPT_TARGET_CHIPINFO_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

class FileSystem;

/// Where a figure comes from. `estimate` is set where no public source states
/// it for this very chip.
struct FigureSource {
  std::string text;
  bool estimate = false;
};

/// One GPU. "Per clock" means per SM and SM clock; an arithmetic rate counts
/// lane instructions (a fused multiply-add is one), a tensor rate counts
/// multiply-adds of dense operands.
struct ChipInfo {
  std::string name;    ///< "h200": the file's name
  std::string product; ///< "NVIDIA H200 SXM"
  unsigned computeMajor = 0, computeMinor = 0;
  /// The program is compiled for this chip's own architecture alone (sm_90a): its code may use what
  /// no other chip has, wgmma among it.
  bool isOwnArch = false;

  double smCount = 0;
  double boostMHz = 0, baseMHz = 0;
  double dramBytes = 0, dramBytesPerSecond = 0;
  double l2Bytes = 0, l2BytesPerSecond = 0; ///< L2: sustained
  double pcieBytesPerSecond = 0;            ///< host to device, one direction

  double l1BytesPerSm = 0;                ///< L1 and shared memory together
  double sharedBytesPerSm = 0;            ///< largest carve-out
  double sharedBytesPerBlock = 0;         ///< without asking
  double sharedBytesPerBlockOptIn = 0;    ///< with cudaFuncSetAttribute
  double sharedBytesReservedPerBlock = 0; ///< taken by the system per block
  double sharedAllocationBytes = 0;       ///< granularity

  double registersPerSm = 0, registersPerBlock = 0, registersPerThread = 0;
  double registerAllocationUnit = 0; ///< per warp
  double warpAllocationGranularity = 0;
  double maxThreadsPerSm = 0, maxBlocksPerSm = 0, maxThreadsPerBlock = 0;
  double schedulersPerSm = 0; ///< each issues one warp instruction a clock

  double fp32PerClock = 0, fp64PerClock = 0, int32PerClock = 0;
  double fp16PerClock = 0; ///< scalar half operations (a packed one counts two)
  double sfuPerClock = 0;
  double tensorFp16PerClock = 0, tensorTf32PerClock = 0, tensorInt8PerClock = 0; ///< 0: none
  double lsuLanesPerClock = 0;
  double lsuWavefrontsPerClock = 0; ///< L1 and shared memory, 128 bytes each
  double l2AtomicsPerClock = 0;     ///< whole chip, distinct addresses, 32 bits

  double aluLatencyCycles = 0, sharedLatencyCycles = 0, l1LatencyCycles = 0;
  double l2LatencyCycles = 0, dramLatencyCycles = 0;
  double launchOverheadUs = 0; ///< of one asynchronous launch in a stream

  /// By the JSON key of the figure.
  std::map<std::string, FigureSource> sources;

  unsigned maxWarpsPerSm() const { return static_cast<unsigned>(maxThreadsPerSm) / 32; }
  /// "sm_90".
  std::string arch() const;
  double clockHz() const { return boostMHz * 1e6; }
  /// Operations per second of the whole chip for a per-clock rate above.
  double rate(double perClock) const { return perClock * smCount * clockHz(); }
};

/// The chip for which times are modelled where none is named.
inline constexpr llvm::StringLiteral defaultChip = "h200";

/// Reads one device file. A `StoreError` names \p fileName and the field.
llvm::Expected<ChipInfo> parseChip(llvm::StringRef json, llvm::StringRef fileName);

/// The chip called \p name ("h200", in any case). Device files in \p overlay (a
/// folder, may be missing; without it `userDataDirectory()/knowledge/devices`) go
/// before the built-in ones. Unknown name: a `UsageError` that lists the
/// built-in ones.
llvm::Expected<ChipInfo> loadChip(llvm::StringRef name);
llvm::Expected<ChipInfo> loadChip(llvm::StringRef name, FileSystem &fileSystem,
                                  llvm::StringRef overlay);

/// Names of the built-in chips, sorted.
std::vector<std::string> builtinChips();

/// The built-in chip that the driver calls \p product ("NVIDIA A100-SXM4-80GB": a100).
std::optional<std::string> chipOfProduct(llvm::StringRef product);

/// How far what was learnt on \p from is believed on \p to, in [0, 1]: 1 for
/// the same chip, 0.8 within one compute capability, 0.6 within one major
/// version, 0.4 across one major version, 0.25 otherwise.
double chipSimilarity(const ChipInfo &from, const ChipInfo &to);

} // namespace kbopt

#endif // KBOPT_TARGET_CHIPINFO_H
