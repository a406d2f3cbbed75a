//===- EntryPoints.cpp - Functions of the driver that programs ask for ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the functions of the driver that a program gets by name: those that tell where an allocation
// lies, and that encode tensor maps.
//
//===----------------------------------------------------------------------===//
#include "Registry.h"
#include "Session.h"
#include "kbrt/TensorMap.h"

#include <cstring>

using namespace kbrt;
using cuda::Error;

/// Performs \p body, a function of the driver: its errors are none of the runtime's.
template <typename Body> static Error driverCall(const char *call, Body body) {
  Error error = cuda::success;
  const Error ofRuntime = apiCall(call, [&](Session &s) {
    error = body(s);
    return Error{cuda::success};
  });
  return ofRuntime ? ofRuntime : error;
}

/// The driver's cuMemGetAddressRange: the allocation that \p p lies in.
static Error findAllocation(uint64_t *begin, size_t *bytes, uint64_t p) {
  return driverCall("cuMemGetAddressRange", [&](Session &s) {
    Allocation *allocation = s.allocations.find(reinterpret_cast<void *>(p));
    if (!allocation || p >= allocation->address + allocation->bytes)
      return Error{cuda::invalidValue};
    if (begin)
      *begin = allocation->address;
    if (bytes)
      *bytes = allocation->bytes;
    return Error{cuda::success};
  });
}

/// The driver's cuTensorMapEncodeTiled.
static Error encodeTiled(uint64_t *words, int type, uint32_t rank, void *address,
                         const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                         const uint32_t *elementStrides, int interleave, int swizzle, int promotion,
                         int fill) {
  constexpr const char *call = "cuTensorMapEncodeTiled";
  return driverCall(call, [&](Session &s) {
    if (!words || reinterpret_cast<uint64_t>(words) % 64 || rank < 1 ||
        rank > mostTensorDimensions || !extents || !box || !elementStrides ||
        (rank > 1 && !strides))
      return Error{cuda::invalidValue};
    TensorMap map;
    map.type = static_cast<uint32_t>(type);
    map.rank = rank;
    map.address = reinterpret_cast<uint64_t>(address);
    bool isDense = interleave == 0;
    for (uint32_t i = 0; i < rank; ++i) {
      map.extents[i] = extents[i], map.box[i] = box[i];
      isDense &= elementStrides[i] == 1;
      if (i + 1 < rank)
        map.strides[i] = strides[i];
    }
    map.swizzle = static_cast<uint32_t>(swizzle);
    map.promotion = static_cast<uint32_t>(promotion);
    map.fillsWithNan = fill != 0;
    if (!isDense || !TensorMap::bytesOf(map.type) || map.swizzle > 3)
      s.stop(Ending::Unsupported, std::string(call) +
                                      " is not supported by the recorder for such a type, swizzle, "
                                      "interleaving or element stride");
    if (!map.isValid())
      return Error{cuda::invalidValue};
    uint64_t encoded[tensorMapWords];
    encodeTensorMap(map, encoded);
    std::memcpy(words, encoded, sizeof encoded);
    return Error{cuda::success};
  });
}

static Error giveEntryPoint(const char *call, const char *symbol, void **function, int *status) {
  return apiCall(call, [&](Session &s) {
    if (!symbol || !function)
      return Error{cuda::invalidValue};
    if (std::strcmp(symbol, "cuMemGetAddressRange") == 0)
      *function = reinterpret_cast<void *>(findAllocation);
    else if (std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0)
      *function = reinterpret_cast<void *>(encodeTiled);
    else
      s.stop(Ending::Unsupported,
             std::string(call) + " is not supported by the recorder for " + symbol);
    if (status)
      *status = 0; // cudaDriverEntryPointSuccess
    return Error{cuda::success};
  });
}

KB_API Error cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long,
                                     int *status) {
  return giveEntryPoint(__func__, symbol, function, status);
}
KB_PER_THREAD(cudaGetDriverEntryPoint, _ptsz)

KB_API Error cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned,
                                              unsigned long long, int *status) {
  return giveEntryPoint(__func__, symbol, function, status);
}
KB_PER_THREAD(cudaGetDriverEntryPointByVersion, _ptsz)
