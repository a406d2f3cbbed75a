//===- TensorMap.h - CUtensorMap as the driver encodes it -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the 128 bytes of a tensor map: a tiled one, without interleaving and with element strides of
// 1. The bits are those that cuTensorMapEncodeTiled of driver 580 gives on an H200, so that a map
// that was encoded without a GPU serves on one. The address is a word of its own: it can be
// replaced where the memory moves.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_TENSORMAP_H
#define KBRT_TENSORMAP_H

#include <cstdint>
#include <cstring>
#include <optional>

namespace kbrt {

inline constexpr unsigned tensorMapWords = 16, mostTensorDimensions = 5;

/// What a tensor map says of a tensor in global memory and of the boxes that are copied from it.
struct TensorMap {
  uint32_t type = 0; ///< as CUtensorMapDataType numbers it
  uint32_t rank = 0;
  uint64_t address = 0;
  uint64_t extents[mostTensorDimensions] = {1, 1, 1, 1, 1}; ///< elements, the innermost first
  uint64_t strides[mostTensorDimensions - 1] = {};          ///< bytes, of all but the innermost
  uint32_t box[mostTensorDimensions] = {1, 1, 1, 1, 1};     ///< elements
  uint32_t swizzle = 0;      ///< as CUtensorMapSwizzle numbers it: none, 32, 64 or 128 bytes
  uint32_t promotion = 0;    ///< as CUtensorMapL2promotion numbers it
  bool fillsWithNan = false; ///< elements out of bounds; otherwise they are zero

  /// Bytes of an element; 0 for types that are not known here.
  static uint32_t bytesOf(uint32_t type) {
    constexpr uint32_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4};
    return type < sizeof bytes / sizeof *bytes ? bytes[type] : 0;
  }
  uint32_t elementBytes() const { return bytesOf(type); }
  /// Bytes of a swizzled row; 16 without a swizzle.
  uint32_t swizzleBytes() const { return 16u << swizzle; }
  uint64_t boxBytes() const {
    uint64_t bytes = elementBytes();
    for (uint32_t each : box)
      bytes *= each;
    return bytes;
  }
  /// Whether the driver encodes it.
  bool isValid() const {
    constexpr uint64_t mostExtent = uint64_t(1) << 32, mostStride = uint64_t(1) << 40,
                       mostAddress = uint64_t(1) << 57;
    constexpr uint32_t mostBox = 256;
    if (!elementBytes() || rank < 1 || rank > mostTensorDimensions || address % 16 ||
        address >= mostAddress || swizzle > 3 || promotion > 3)
      return false;
    for (uint32_t i = 0; i < rank; ++i)
      if (!extents[i] || extents[i] > mostExtent || !box[i] || box[i] > mostBox ||
          (i + 1 < rank && (strides[i] % 16 || strides[i] >= mostStride)))
        return false;
    const uint32_t row = box[0] * elementBytes();
    return row % 16 == 0 && (!swizzle || row <= swizzleBytes());
  }
};

namespace tensormap {
/// How the bits number the types, and those of tf32, a float with a bit of its own.
inline constexpr uint32_t typeNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7};
inline constexpr uint32_t tf32 = 11;
} // namespace tensormap

/// The words of \p map, which is valid.
inline void encodeTensorMap(const TensorMap &map, uint64_t (&words)[tensorMapWords]) {
  for (uint64_t &word : words)
    word = 0;
  words[0] = map.address;
  words[1] = uint64_t(map.rank - 1) << 4 | uint64_t(tensormap::typeNumbers[map.type]) << 7 |
             uint64_t(map.swizzle) << 13 | uint64_t(map.fillsWithNan) << 15 |
             uint64_t(map.type == tensormap::tf32) << 16 | uint64_t(map.promotion) << 17;
  for (uint32_t i = 0; i + 1 < map.rank; ++i) {
    const uint64_t stride = map.strides[i] / 16; // 36 bits
    words[1 + (i + 1) / 2] |= (stride & 0xffffffff) << (i % 2 ? 0 : 32);
    words[3] |= stride >> 32 << (32 + 4 * i);
  }
  for (uint32_t i = 0; i < map.rank; ++i)
    words[4 + i / 2] |= ((map.extents[i] - 1) & 0xffffffff) << (i % 2 * 32);
  words[6] |= uint64_t(map.box[0] - 1) << 56;
  for (uint32_t i = 1; i < map.rank; ++i)
    words[7] |= uint64_t(map.box[i] - 1) << (8 * (i - 1));
  words[8] = map.boxBytes();
  words[9] = map.swizzle ? 128u << map.swizzle : 16;
}

/// The inverse; nothing for words that `encodeTensorMap` does not give.
inline std::optional<TensorMap> decodeTensorMap(const uint64_t (&words)[tensorMapWords]) {
  TensorMap map;
  map.address = words[0];
  map.rank = uint32_t(words[1] >> 4 & 7) + 1;
  map.swizzle = uint32_t(words[1] >> 13 & 3);
  map.fillsWithNan = words[1] >> 15 & 1;
  map.promotion = uint32_t(words[1] >> 17 & 3);
  const bool isTf32 = words[1] >> 16 & 1;
  for (map.type = 0; map.type <= tensormap::tf32; ++map.type)
    if (tensormap::typeNumbers[map.type] == (words[1] >> 7 & 15) &&
        (map.type == tensormap::tf32) == isTf32)
      break;
  if (map.type > tensormap::tf32 || map.rank > mostTensorDimensions)
    return std::nullopt;
  for (uint32_t i = 0; i + 1 < map.rank; ++i)
    map.strides[i] = ((words[1 + (i + 1) / 2] >> (i % 2 ? 0 : 32) & 0xffffffff) |
                      (words[3] >> (32 + 4 * i) & 15) << 32) *
                     16;
  for (uint32_t i = 0; i < map.rank; ++i) {
    map.extents[i] = (words[4 + i / 2] >> (i % 2 * 32) & 0xffffffff) + 1;
    map.box[i] = uint32_t(i ? words[7] >> (8 * (i - 1)) & 255 : words[6] >> 56) + 1;
  }
  uint64_t again[tensorMapWords];
  if (!map.isValid())
    return std::nullopt;
  encodeTensorMap(map, again);
  return std::memcmp(again, words, sizeof again) == 0 ? std::optional(map) : std::nullopt;
}

} // namespace kbrt

#endif // KBRT_TENSORMAP_H
