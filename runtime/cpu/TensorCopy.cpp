//===- TensorCopy.cpp - Boxes of tensors to shared memory ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns cp.async.bulk.tensor: which elements a box has, where each of its rows lies in shared memory
// (PTX ISA, "Tensors"), and the zeros out of bounds.
//
//===----------------------------------------------------------------------===//
#include "AsyncCopies.h"
#include "Check.h"
#include "Count.h"
#include "Mbarrier.h"
#include "OracleMemory.h"
#include "WgmmaMemory.h"
#include "kbrt/MbarrierAbi.h"
#include "kbrt/TensorMap.h"
#include <algorithm>
#include <cstring>

namespace kbrt {

namespace {

constexpr uint32_t chunkBytes = 16;

[[noreturn]] void stopAt(uint32_t site, LaunchStatus status, const std::string &what) {
  machine.stop(status, what + ", in " + machine.whereAmI(site));
}

/// The tensor map at \p place, for a copy of \p rank dimensions.
TensorMap mapAt(uint32_t site, const void *place, uint32_t rank) {
  uint64_t words[tensorMapWords];
  std::memcpy(words, place, sizeof words);
  std::optional<TensorMap> map = decodeTensorMap(words);
  if (reinterpret_cast<uint64_t>(place) % 64)
    stopAt(site, LaunchStatus::Fault, "a tensor map at an address that is no multiple of 64");
  if (!map)
    stopAt(site, LaunchStatus::Unsupported,
           "a tensor map that is none of a tiled tensor without interleaving and element strides");
  if (map->rank != rank)
    stopAt(site, LaunchStatus::Fault,
           "a copy of " + std::to_string(rank) + " dimensions by a tensor map of " +
               std::to_string(map->rank));
  if (map->fillsWithNan ||
      (map->swizzle && map->box[0] * map->elementBytes() != map->swizzleBytes()))
    stopAt(site, LaunchStatus::Unsupported,
           "a tensor map that fills with NaN, or whose rows are shorter than its swizzle");
  return *map;
}

/// Calls \p visit(row of the box, its first element in memory, elements before the tensor's first,
/// elements of the tensor) for each row of a box.
template <typename Visit>
void forEachRow(const TensorMap &map, const int32_t *coordinates, Visit visit) {
  uint64_t rows = 1;
  for (uint32_t i = 1; i < map.rank; ++i)
    rows *= map.box[i];
  const int64_t first = coordinates[0], end = first + map.box[0],
                extent = static_cast<int64_t>(map.extents[0]);
  const int64_t begin = std::clamp<int64_t>(0, first, end),
                last = std::clamp<int64_t>(extent, begin, end);
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t rest = row, address = map.address + static_cast<uint64_t>(begin) * map.elementBytes();
    bool isInside = true;
    for (uint32_t i = 1; i < map.rank; ++i, rest /= map.box[i - 1]) {
      const int64_t at = coordinates[i] + static_cast<int64_t>(rest % map.box[i]);
      isInside &= at >= 0 && at < static_cast<int64_t>(map.extents[i]);
      address += static_cast<uint64_t>(at) * map.strides[i - 1];
    }
    visit(row, reinterpret_cast<char *>(address), static_cast<uint64_t>(begin - first),
          isInside ? static_cast<uint64_t>(last - begin) : 0);
  }
}

/// Where byte \p at of a box that begins at \p start lies in shared memory.
uint64_t swizzled(const TensorMap &map, uint64_t start, uint64_t at) {
  const uint64_t place = start + at;
  return place ^ (place >> 7 & (map.swizzleBytes() / chunkBytes - 1)) << 4;
}

} // namespace
} // namespace kbrt

using namespace kbrt;

extern "C" {

void kbrt_tensor_read(uint32_t site, const void *place, uint32_t rank, const int32_t *coordinates) {
  const TensorMap map = mapAt(site, place, rank);
  forEachRow(map, coordinates, [&](uint64_t, const char *from, uint64_t, uint64_t count) {
    const auto address = reinterpret_cast<uint64_t>(from);
    const uint64_t bytes = count * map.elementBytes();
    if (machine.info->mode == ImageMode::Check)
      check::access(site, address, bytes, AccessKind::Load, /*isAligned=*/false);
    else if (machine.isCounting)
      count::onBulkRead(site, address, bytes);
  });
}

void kbrt_tensor_copy(uint32_t site, void *destination, const void *place, void *barrier,
                      uint32_t rank, const int32_t *coordinates) {
  machine.lastSite = site;
  const TensorMap map = mapAt(site, place, rank);
  const auto shared = reinterpret_cast<uint64_t>(machine.block.shared),
             start = reinterpret_cast<uint64_t>(destination), bytes = map.boxBytes();
  const uint64_t alignment = 128;
  if (start % alignment)
    stopAt(site, LaunchStatus::Fault,
           "a copy of a tensor to an address that is no multiple of 128");
  if (start < shared ||
      start - shared + bytes > machine.kernel->sharedSpan + machine.block.dynamicSharedBytes)
    stopAt(site, LaunchStatus::Fault,
           "a copy of " + std::to_string(bytes) + " bytes of a tensor to byte " +
               std::to_string(start - shared) + " of shared memory, past the block's");
  if (coordinates[0] * static_cast<int64_t>(map.elementBytes()) % chunkBytes)
    stopAt(site, LaunchStatus::Fault,
           "a copy of a tensor from column " + std::to_string(coordinates[0]) +
               ", which begins at no multiple of 16 bytes"); // an illegal instruction on an H200
  const bool isChecked = machine.info->mode == ImageMode::Check,
             isShadowed = machine.info->mode == ImageMode::Oracle;
  if (isChecked)
    wgmma::onAsyncWrite(start - shared, bytes, site);
  for (uint64_t at = 0; isChecked && at < bytes; at += chunkBytes)
    check::access(site, swizzled(map, start, at), chunkBytes, AccessKind::Store,
                  /*isAligned=*/false);
  const uint64_t rowBytes = map.box[0] * map.elementBytes();
  forEachRow(map, coordinates,
             [&](uint64_t row, const char *from, uint64_t before, uint64_t count) {
               const uint64_t begin = before * map.elementBytes(),
                              end = begin + count * map.elementBytes();
               for (uint64_t at = 0; at < rowBytes; at += chunkBytes) {
                 auto *to = reinterpret_cast<char *>(swizzled(map, start, row * rowBytes + at));
                 std::memset(to, 0, chunkBytes);
                 const uint64_t first = std::max(at, begin), last = std::min(at + chunkBytes, end);
                 if (first >= last)
                   continue;
                 std::memcpy(to + (first - at), from + (first - begin), last - first);
                 if (isShadowed)
                   oracle::copy(to + (first - at), from + (first - begin), last - first);
               }
             });
  if (isChecked) {
    wgmma::onAsyncWritten(start - shared, bytes);
    mbarrier::onCopy(barrier, start - shared, bytes);
  }
  mbarrier::complete(site, barrier, bytes);
}
}
