//===- AsyncCopies.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AsyncCopies.h"
#include "Findings.h"
#include "WgmmaMemory.h"
#include "kbrt/DeviceAbi.h"
#include <algorithm>
#include <map>
#include <vector>

namespace kbrt::async {

namespace {

struct Range {
  uint64_t offset, bytes;
};
/// Of one thread: the groups in flight, oldest first; the last one is still open.
using Groups = std::vector<std::vector<Range>>;

std::map<uint32_t, Groups> groups; ///< by thread
/// How many copies to each byte of shared memory are in flight.
std::vector<uint16_t> flying;
uint64_t total = 0;

void count(const Range &range, int by) {
  if (flying.size() < range.offset + range.bytes)
    flying.resize(range.offset + range.bytes);
  for (uint64_t i = 0; i < range.bytes; ++i)
    flying[range.offset + i] = static_cast<uint16_t>(flying[range.offset + i] + by);
  total += static_cast<uint64_t>(static_cast<int64_t>(by) * static_cast<int64_t>(range.bytes));
}

Groups &own() {
  Groups &mine = groups[machine.current().linear];
  if (mine.empty())
    mine.emplace_back();
  return mine;
}

} // namespace

void onBlock() {
  groups.clear();
  std::fill(flying.begin(), flying.end(), uint16_t{0});
  total = 0;
}

void onAccess(uint64_t offset, uint64_t bytes, uint32_t site) {
  if (!total)
    return;
  for (uint64_t i = offset; i < std::min<uint64_t>(offset + bytes, flying.size()); ++i) {
    if (!flying[i])
      continue;
    if (findings::isNew(FindingKind::WeakOrder, site, site, Severity::Benign)) {
      Finding finding = findings::make(FindingKind::WeakOrder, site);
      finding.severity = Severity::Benign;
      finding.message = finding.place.access +
                        " of shared memory that an asynchronous copy still writes: no thread "
                        "has waited for it";
      findings::add(std::move(finding));
    }
    return;
  }
}

void begin(uint64_t offset, uint64_t bytes) { count({offset, bytes}, 1); }
void land(uint64_t offset, uint64_t bytes) { count({offset, bytes}, -1); }

} // namespace kbrt::async

using namespace kbrt;

extern "C" {

void kbrt_async_copy(uint32_t, void *destination, uint64_t bytes) {
  const uint64_t at = reinterpret_cast<uint64_t>(destination),
                 shared = reinterpret_cast<uint64_t>(machine.block.shared);
  if (!kbrt_current || at < shared)
    return;
  const async::Range range{at - shared, bytes};
  async::own().back().push_back(range);
  async::count(range, 1);
}

void kbrt_async_commit() {
  if (kbrt_current)
    async::own().emplace_back();
}

void kbrt_async_wait(uint32_t left) {
  if (!kbrt_current)
    return;
  async::Groups &mine = async::own();
  // The open group is waited for only where everything is.
  const size_t closed = mine.size() - 1;
  const size_t done = left == ~0u ? mine.size() : closed - std::min<size_t>(closed, left);
  for (size_t i = 0; i < done; ++i)
    for (const async::Range &range : mine[i]) {
      async::count(range, -1);
      wgmma::onWritten(range.offset, range.bytes);
    }
  mine.erase(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(done));
}
}
