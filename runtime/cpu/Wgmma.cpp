//===- Wgmma.cpp - matrix operations of four warps --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns wgmma.mma_async: how four warps meet, where a descriptor says that an element lies, and the
// sums. Layouts are those of the PTX ISA, "Asynchronous warpgroup-level matrix instructions"; where
// that leaves open which distance is which (no swizzle and neighbours along rows or columns), what
// an H200 does.
//
//===----------------------------------------------------------------------===//
#include "Check.h"
#include "Count.h"
#include "Machine.h"
#include "Mma.h"
#include "OracleMemory.h"
#include "OracleSum.h"
#include "WgmmaMemory.h"
#include "kbrt/WgmmaAbi.h"
#include <algorithm>
#include <string>
#include <vector>

namespace kbrt::wgmma {

namespace {

/// The fields of a matrix descriptor, in bytes.
struct Descriptor {
  uint32_t start, leading, stride, rowBytes; ///< rowBytes: of a swizzled row; 16: none
  uint32_t baseOffset;

  explicit Descriptor(uint64_t bits)
      : start(static_cast<uint32_t>(bits & 0x3fff) * 16),
        leading(static_cast<uint32_t>(bits >> 16 & 0x3fff) * 16),
        stride(static_cast<uint32_t>(bits >> 32 & 0x3fff) * 16),
        baseOffset(static_cast<uint32_t>(bits >> 49 & 7)) {
    constexpr uint32_t sizes[] = {16, 128, 64, 32};
    rowBytes = sizes[bits >> 62];
  }

  /// Offset in shared memory of the element of \p bytes at \p side (a row of A, a column of B) and
  /// term \p k.
  uint32_t offsetOf(uint32_t side, uint32_t k, uint32_t bytes, bool isTransposed) const {
    uint32_t at = start;
    if (!isTransposed) {
      const uint32_t along = k * bytes;
      at += side % 8 * rowBytes + side / 8 * stride + along % rowBytes +
            (rowBytes == 16 ? along / 16 * leading : along / rowBytes * rowBytes);
    } else {
      const uint32_t along = side * bytes;
      at += k % 8 * rowBytes + along % rowBytes;
      at += rowBytes == 16 ? along / 16 * stride + k / 8 * leading
                           : along / rowBytes * leading + k / 8 * stride;
    }
    return at ^ (at >> 7 & (rowBytes / 16 - 1)) << 4;
  }
};

/// What the threads of a group bring to an operation.
struct Meeting {
  uint32_t arrived = 0, site = 0;
  const WgmmaShape *shape = nullptr;
  uint64_t a = 0, b = 0;
  uint32_t addsToD = 0;
  const void *registers[groupThreads];
  void *d[groupThreads];
};
Meeting meetings[maxThreads / groupThreads];
uint64_t meetingsOfLaunch = ~uint64_t(0), meetingsOfBlock = 0;

uint32_t bytesOf(MmaType type) {
  return type == MmaType::F32 || type == MmaType::TF32   ? 4
         : type == MmaType::F16 || type == MmaType::BF16 ? 2
                                                         : 1;
}

/// Operands of one operation, and where they lie; null for what is in no memory.
struct Operands {
  uint32_t k, n;
  std::vector<const char *> a, b; ///< a: by row and term, b: by term and column
};

const char *addressOf(const Descriptor &descriptor, uint32_t side, uint32_t k, MmaType type,
                      bool isTransposed, uint32_t site) {
  const uint32_t bytes = bytesOf(type), at = descriptor.offsetOf(side, k, bytes, isTransposed);
  const char *address = reinterpret_cast<const char *>(sharedWindow + at);
  if (address < machine.block.shared ||
      address + bytes > machine.block.dynamicShared + machine.block.dynamicSharedBytes)
    machine.stop(LaunchStatus::Fault, "a matrix descriptor of wgmma leads to byte " +
                                          std::to_string(at) +
                                          " of shared memory, outside of what the block has, in " +
                                          machine.whereAmI(site));
  return address;
}

/// Where the lanes of each of four warps hold A, if not in memory.
const char *registerOf(const Meeting &meeting, uint32_t row, uint32_t k) {
  const WgmmaShape &s = *meeting.shape;
  MmaShape fragment{};
  fragment.m = 16, fragment.n = 8, fragment.k = s.k, fragment.layout = MmaLayout::Mma;
  fragment.aType = s.aType;
  for (uint32_t lane = row % 8 * 4; lane < row % 8 * 4 + 4; ++lane)
    for (uint32_t i = 0; i < s.aCount; ++i) {
      uint32_t r, c;
      fragmentPosition(fragment, MmaOperand::A, lane, i, r, c);
      if (r == row % 16 && c == k)
        return static_cast<const char *>(meeting.registers[row / 16 * warpLanes + lane]) +
               i * bytesOf(s.aType);
    }
  return nullptr;
}

Operands operandsOf(const Meeting &meeting) {
  const WgmmaShape &s = *meeting.shape;
  const Descriptor a(meeting.a), b(meeting.b);
  if (b.baseOffset || (!s.aCount && a.baseOffset))
    machine.stop(LaunchStatus::Unsupported, "a matrix descriptor of wgmma with a base offset, in " +
                                                machine.whereAmI(meeting.site));
  Operands operands{s.k, s.n, {}, {}};
  for (uint32_t row = 0; row < 4 * s.rowsOfWarp; ++row)
    for (uint32_t k = 0; k < s.k; ++k)
      operands.a.push_back(s.aCount ? registerOf(meeting, row, k)
                                    : addressOf(a, row, k, s.aType, s.transA, meeting.site));
  for (uint32_t k = 0; k < s.k; ++k)
    for (uint32_t column = 0; column < s.n; ++column)
      operands.b.push_back(addressOf(b, column, k, s.bType, s.transB, meeting.site));
  return operands;
}

/// Calls \p visit(thread, element of its sums, row, column).
template <typename Visit> void forEachSum(const WgmmaShape &s, Visit visit) {
  for (uint32_t thread = 0; thread < groupThreads; ++thread)
    for (uint32_t i = 0; i < s.n / 2; ++i)
      visit(thread, i, thread / warpLanes * 16 + thread % warpLanes / 4 + i % 4 / 2 * 8,
            i / 4 * 8 + thread % 4 * 2 + i % 2);
}

/// Tells the checks what is read, in chunks of 16 bytes.
void checkReads(const Meeting &meeting, const Operands &operands) {
  const WgmmaShape &s = *meeting.shape;
  const auto shared = reinterpret_cast<uint64_t>(machine.block.shared);
  std::vector<uint64_t> chunks;
  for (const std::vector<const char *> *all : {&operands.a, &operands.b})
    for (const char *address : *all)
      if (all == &operands.b || !s.aCount)
        chunks.push_back(reinterpret_cast<uint64_t>(address) & ~uint64_t(15));
  std::sort(chunks.begin(), chunks.end());
  chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
  for (uint64_t chunk : chunks) {
    check::access(meeting.site, chunk, 16, AccessKind::Load, /*isAligned=*/false);
    onRead(chunk - shared, 16, meeting.site);
  }
}

/// The shadows of the sums, by thread and element.
std::vector<OracleSum> shadowsOf(const Meeting &meeting, const Operands &operands) {
  const WgmmaShape &s = *meeting.shape;
  auto formatOf = [](MmaType type) {
    return type == MmaType::F16    ? FloatFormat::F16
           : type == MmaType::BF16 ? FloatFormat::BF16
                                   : FloatFormat::F32;
  };
  const FloatFormat factor = formatOf(s.aType), result = formatOf(s.dType);
  auto factorAt = [&](const char *address, bool isNegated) {
    OracleSum x = oracle::load(address, factor);
    const OracleSum minusOne = oracle::exactly(-1);
    return isNegated ? oracle::compute(OracleOperation::Multiply, factor, factor, x, &minusOne) : x;
  };
  std::vector<OracleSum> a, b, d;
  for (const char *address : operands.a)
    a.push_back(factorAt(address, s.negateA));
  for (const char *address : operands.b)
    b.push_back(factorAt(address, s.negateB));
  forEachSum(s, [&](uint32_t thread, uint32_t i, uint32_t row, uint32_t column) {
    OracleSum sum =
        meeting.addsToD
            ? oracle::load(static_cast<const char *>(meeting.d[thread]) + i * bytesOf(s.dType),
                           result)
            : oracle::exactly(0);
    for (uint32_t k = 0; k < s.k; ++k)
      sum = oracle::add(sum, oracle::compute(OracleOperation::Multiply, factor, FloatFormat::F32,
                                             a[row * s.k + k], &b[k * s.n + column]));
    if (result != FloatFormat::F32)
      sum = oracle::compute(OracleOperation::Convert, FloatFormat::F32, result, sum, nullptr);
    d.push_back(sum);
  });
  return d;
}

void compute(const Meeting &meeting) {
  const WgmmaShape &s = *meeting.shape;
  const Operands operands = operandsOf(meeting);
  if (machine.info->mode == ImageMode::Check)
    checkReads(meeting, operands);
  const bool isShadowed = machine.info->mode == ImageMode::Oracle;
  const std::vector<OracleSum> shadows =
      isShadowed ? shadowsOf(meeting, operands) : std::vector<OracleSum>();
  static std::vector<float> a, b;
  a.clear(), b.clear();
  for (const char *address : operands.a)
    a.push_back(float(loadElement(address, s.aType, 0)) * (s.negateA ? -1.0f : 1.0f));
  for (const char *address : operands.b)
    b.push_back(float(loadElement(address, s.bType, 0)) * (s.negateB ? -1.0f : 1.0f));
  size_t number = 0;
  forEachSum(s, [&](uint32_t thread, uint32_t i, uint32_t row, uint32_t column) {
    void *d = meeting.d[thread];
    float sum = meeting.addsToD ? float(loadElement(d, s.dType, i)) : 0.0f;
    for (uint32_t k = 0; k < s.k; ++k)
      sum += a[row * s.k + k] * b[k * s.n + column];
    storeElement(d, s.dType, i, sum);
    if (isShadowed)
      oracle::store(static_cast<char *>(d) + i * bytesOf(s.dType),
                    s.dType == MmaType::F16 ? FloatFormat::F16 : FloatFormat::F32,
                    shadows[number++]);
  });
}

/// The running thread's group, with nothing of an earlier block in it.
Meeting &currentMeeting(uint32_t group) {
  if (meetingsOfLaunch != machine.launchNumber || meetingsOfBlock != machine.blockLinear) {
    for (Meeting &each : meetings)
      each = Meeting{};
    meetingsOfLaunch = machine.launchNumber, meetingsOfBlock = machine.blockLinear;
  }
  return meetings[group];
}

} // namespace
} // namespace kbrt::wgmma

using namespace kbrt;

extern "C" void kbrt_wgmma(uint32_t site, const WgmmaShape *shape, uint64_t a, uint64_t b,
                           uint32_t addsToD, const void *aRegisters, void *d) {
  using namespace wgmma;
  machine.lastSite = site;
  Fiber &self = machine.currentFiber();
  self.site = site;
  const uint32_t group = self.thread.linear / groupThreads,
                 place = self.thread.linear % groupThreads;
  if ((group + 1) * groupThreads > machine.block.threads)
    machine.stop(LaunchStatus::DivergentBarrier,
                 "wgmma needs four whole warps, which the block of " +
                     std::to_string(machine.block.threads) + " threads does not have there, in " +
                     machine.whereAmI(site));
  if (machine.isCounting)
    count::onWarpOp(self.thread, WarpOpKind::Mma);
  if (machine.info->mode == ImageMode::Check)
    onIssue(self.thread, site);
  Meeting &meeting = currentMeeting(group);
  if (meeting.arrived++ == 0)
    meeting.site = site, meeting.shape = shape, meeting.a = a, meeting.b = b,
    meeting.addsToD = addsToD;
  else if (meeting.shape != shape || meeting.b != b || meeting.addsToD != addsToD ||
           (!shape->aCount && meeting.a != a))
    machine.stop(LaunchStatus::DivergentBarrier,
                 "the threads of four warps meet at wgmma with different operands (" +
                     machine.sitePlace(meeting.site) + "), in " + machine.whereAmI(site));
  meeting.registers[place] = aRegisters;
  meeting.d[place] = d;
  if (meeting.arrived < groupThreads) {
    self.mask = ~0u;
    machine.sleep(FiberState::AtWarpOp);
    return;
  }
  machine.progress();
  compute(meeting);
  meeting.arrived = 0;
  for (uint32_t i = 0; i < groupThreads; ++i)
    if (i != place)
      machine.wake(machine.fibers[group * groupThreads + i]);
}
