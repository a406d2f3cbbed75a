//===- Requests.h - from lane accesses to warp requests ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the grouping of lane accesses by (warp, site, key) and the measures of
// one finished request.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_REQUESTS_H
#define KBRT_REQUESTS_H

#include "Machine.h"
#include <functional>

namespace kbrt::count {

/// One instruction of one warp: the lanes that executed it together.
struct Request {
  uint64_t key;
  uint64_t next; ///< number of the next request with the same warp, site and key; 0 for none
  uint32_t site; ///< branches have the top bit set
  uint32_t mask;
  uint32_t warp;
  uint64_t address[warpLanes]; ///< of active lanes; a branch's outcome
};

inline constexpr uint32_t branchBit = 0x80000000u;

/// Collects the lane accesses of one block. Requests are finished, oldest first, when many are open
/// or the block ends; the order of finishing is that in which their first lanes came.
class RequestTable {
public:
  explicit RequestTable(std::function<void(const Request &)> finish) : finish(std::move(finish)) {}
  void add(uint32_t warp, uint32_t lane, uint32_t site, uint64_t key, uint64_t address);
  void flush();
  /// Forgets what a launch left that was stopped in the middle of a block.
  void clear();

private:
  struct Group {
    uint64_t key;
    uint32_t site, warp;
    uint64_t open; ///< number of the first request that a lane may still join, 0: slot is free
    uint64_t tail;
  };
  Request &at(uint64_t number) { return requests[number - base]; }
  Group &groupOf(uint32_t warp, uint32_t site, uint64_t key);
  void finishOldest(size_t n);
  void rebuild();

  std::function<void(const Request &)> finish;
  std::vector<Request> requests;
  uint64_t base = 1; ///< number of requests[0]
  std::vector<Group> groups;
  size_t groupCount = 0;
};

/// Bytes of one request that lie apart: what the sectors are counted from.
struct Measures {
  unsigned lanes, bytesUsed, sectors, idealSectors, serialisation;
  uint64_t sector[2 * warpLanes]; ///< address / 32, ascending
};
Measures measure(const Request &request, unsigned elementBytes);

/// Distinct 128-byte lines, counted anew for every half warp of 8-byte accesses and every quarter
/// of 16-byte ones: lanes of different passes do not share a line.
unsigned lineWavefronts(const Request &request, unsigned elementBytes);

/// Passes over the 32 banks of 4 bytes: at most one warp at a time for accesses up to 4 bytes, half
/// a warp for 8 and a quarter for 16. \p ideal gets what no conflict would take.
unsigned sharedWavefronts(const Request &request, unsigned elementBytes, unsigned &ideal);

} // namespace kbrt::count
#endif
