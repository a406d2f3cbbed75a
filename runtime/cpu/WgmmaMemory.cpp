//===- WgmmaMemory.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "WgmmaMemory.h"
#include "Findings.h"
#include "kbrt/WgmmaAbi.h"
#include <algorithm>
#include <vector>

namespace kbrt::wgmma {

namespace {

constexpr uint64_t granule = 4; ///< bytes whose last writer is known

struct Range {
  uint64_t offset, bytes;
  uint32_t number; ///< of the group of operations that reads it
};

/// What one thread has issued, in groups that it commits.
struct Progress {
  uint32_t open = 0;   ///< number of the group that is open
  uint32_t waited = 0; ///< all groups with a lower number are complete
  uint32_t lastSite = 0;
  bool hasOpen = false, isFenced = false, hasIssued = false;
  uint64_t proxyFence = 0; ///< the time of its last one
};

Progress progress[maxThreads];
std::vector<Range> reads[maxThreads / groupThreads]; ///< in flight, by group of threads
std::vector<uint16_t> flying; ///< how many operations in flight read each byte
std::vector<Time> writers;    ///< by granule, the last one
uint64_t now = 0, blockBegin = 0, total = 0;

void count(const Range &range, int by) {
  if (flying.size() < range.offset + range.bytes)
    flying.resize(range.offset + range.bytes);
  for (uint64_t i = 0; i < range.bytes; ++i)
    flying[range.offset + i] = static_cast<uint16_t>(flying[range.offset + i] + by);
  total += static_cast<uint64_t>(static_cast<int64_t>(by) * static_cast<int64_t>(range.bytes));
}

void report(uint32_t site, const char *message, const Thread &thread = machine.current()) {
  if (!findings::isNew(FindingKind::WeakOrder, site, site, Severity::Benign))
    return;
  Finding finding = findings::make(FindingKind::WeakOrder, site, thread);
  finding.severity = Severity::Benign;
  finding.message = finding.place.access + " " + message;
  findings::add(std::move(finding));
}

Progress &own() { return progress[machine.current().linear]; }

/// Whether neither a fence of its thread nor one at \p fenced lies behind \p write.
bool isUnfenced(const Time &write, uint64_t fenced) {
  return write.time >= std::max({blockBegin, fenced, progress[write.thread].proxyFence});
}

} // namespace

void onBlock() {
  std::fill_n(progress, machine.block.threads, Progress{});
  for (std::vector<Range> &each : reads)
    each.clear();
  std::fill(flying.begin(), flying.end(), uint16_t{0});
  blockBegin = ++now;
  total = 0;
}

void onWrite(uint64_t offset, uint64_t bytes, uint32_t site) {
  for (uint64_t i = offset; total && i < std::min<uint64_t>(offset + bytes, flying.size()); ++i)
    if (flying[i])
      return report(site, "of shared memory that a wgmma in flight still reads: no thread of its "
                          "four warps has waited for it");
}

void onWritten(uint64_t offset, uint64_t bytes) {
  const uint64_t end = (offset + bytes + granule - 1) / granule;
  if (writers.size() < end)
    writers.resize(end);
  for (uint64_t i = offset / granule; i < end; ++i)
    writers[i] = {now, machine.current().linear};
}

void onRead(uint64_t offset, uint64_t bytes, uint32_t site) {
  const uint32_t group = machine.current().linear / groupThreads;
  uint64_t fenced = 0;
  for (uint32_t i = 0; i < groupThreads; ++i)
    fenced = std::max(fenced, progress[group * groupThreads + i].proxyFence);
  const uint64_t end = std::min<uint64_t>((offset + bytes) / granule, writers.size());
  for (uint64_t i = offset / granule; i < end; ++i)
    if (isUnfenced(writers[i], fenced)) {
      report(site, "reads shared memory that was written without a fence.proxy.async behind it");
      break;
    }
  const Range range{offset, bytes, own().open};
  reads[group].push_back(range);
  count(range, 1);
}

Time currentTime() { return {now, machine.current().linear}; }

void onAsyncWrite(uint64_t offset, uint64_t bytes, uint32_t site) {
  const uint64_t end = std::min<uint64_t>((offset + bytes) / granule, writers.size());
  for (uint64_t i = offset / granule; i < end; ++i)
    if (isUnfenced(writers[i], own().proxyFence))
      return report(site, "over what was written without a fence.proxy.async behind it");
}

void onAsyncWritten(uint64_t offset, uint64_t bytes) {
  const uint64_t end = std::min<uint64_t>((offset + bytes) / granule, writers.size());
  for (uint64_t i = offset / granule; i < end; ++i)
    writers[i] = Time{};
}

void onAsyncUse(const Time &written, uint32_t site) {
  if (isUnfenced(written, own().proxyFence))
    report(site, "completes at an mbarrier that was initialised without a fence behind it");
}

void onIssue(const Thread &thread, uint32_t site) {
  Progress &mine = progress[thread.linear];
  if (!mine.isFenced)
    report(site, "without a wgmma.fence before it", thread);
  mine.isFenced = mine.hasOpen = mine.hasIssued = true;
  mine.lastSite = site;
}

void onExit(const Thread &thread) {
  const Progress &mine = progress[thread.linear];
  if (mine.hasIssued && (mine.hasOpen || mine.waited < mine.open))
    report(mine.lastSite, "that its thread has not waited for when it ends", thread);
}

} // namespace kbrt::wgmma

using namespace kbrt;

extern "C" {

void kbrt_wgmma_fence(uint32_t) { wgmma::own().isFenced = true; }

void kbrt_wgmma_commit(uint32_t) {
  ++wgmma::own().open;
  wgmma::own().hasOpen = false;
}

void kbrt_wgmma_wait(uint32_t, uint32_t groups) {
  wgmma::Progress &mine = wgmma::own();
  mine.waited = std::max(mine.waited, mine.open - std::min(mine.open, groups));
  std::vector<wgmma::Range> &all = wgmma::reads[machine.current().linear / wgmma::groupThreads];
  std::erase_if(all, [&](const wgmma::Range &range) {
    const bool isComplete = range.number < mine.waited;
    if (isComplete)
      wgmma::count(range, -1);
    return isComplete;
  });
}

void kbrt_proxy_fence(uint32_t) { wgmma::own().proxyFence = ++wgmma::now; }
}
