//===- Touches.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Touches.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>

namespace kbrt::touches {

bool isRecording = false;
Page **directory = nullptr;

namespace {

std::vector<uint64_t> touched; ///< pages
std::vector<Page *> unused;    ///< all bits clear
uint64_t pageCount = 0;
bool isShort = false; ///< of memory
/// 512 MiB, which holds the bits of 1.3 GiB.
constexpr uint64_t mostPages = (uint64_t(512) << 20) / sizeof(Page);

Page *newPage(uint64_t number) {
  Page *page = nullptr;
  if (!unused.empty()) {
    page = unused.back();
    unused.pop_back();
  } else if (pageCount < mostPages) {
    ++pageCount;
    page = new Page{};
  } else {
    isShort = true;
    return nullptr;
  }
  touched.push_back(number);
  return directory[number] = page;
}

void mark(uint64_t *bits, uint64_t first, uint64_t count) {
  while (count) {
    const uint64_t in = first % wordBits, here = std::min(count, wordBits - in);
    bits[first / wordBits] |= (here == wordBits ? ~uint64_t(0) : (uint64_t(1) << here) - 1) << in;
    first += here;
    count -= here;
  }
}

/// Appends the runs of set bits, of a page that begins at \p address.
void gather(const uint64_t *bits, uint64_t address, IntervalSet &into) {
  for (uint64_t w = 0; w < words; ++w) {
    const uint64_t base = address + w * wordBits;
    uint64_t word = bits[w];
    for (unsigned at = 0; word;) {
      const unsigned skip = unsigned(std::countr_zero(word));
      word >>= skip;
      at += skip;
      const unsigned run = unsigned(std::countr_one(word));
      into.append(base + at, base + at + run);
      word = run == wordBits ? 0 : word >> run;
      at += run;
    }
  }
}

} // namespace

void begin() {
  if (!directory) {
    void *p = mmap(nullptr, arenaBytes / pageBytes * sizeof(Page *), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    directory = p == MAP_FAILED ? nullptr : static_cast<Page **>(p);
  }
  isShort = !directory;
  isRecording = directory != nullptr;
}

void noteAnywhere(uint64_t offset, uint64_t bytes, Use use) {
  while (bytes) {
    const uint64_t in = offset % pageBytes, here = std::min(bytes, pageBytes - in);
    Page *page = directory[offset / pageBytes];
    if (!page && !(page = newPage(offset / pageBytes)))
      return;
    mark(page->bits[use], in, here);
    offset += here;
    bytes -= here;
  }
}

std::optional<Touched> end() {
  Touched all;
  isRecording = false;
  std::sort(touched.begin(), touched.end());
  for (uint64_t number : touched) {
    Page *page = directory[number];
    const uint64_t address = arenaBase + number * pageBytes;
    gather(page->bits[Reads], address, all.reads);
    gather(page->bits[Writes], address, all.writes);
    gather(page->bits[Atomics], address, all.atomics);
    memset(page, 0, sizeof *page);
    unused.push_back(page);
    directory[number] = nullptr;
  }
  touched.clear();
  if (isShort)
    return std::nullopt;
  return all;
}

} // namespace kbrt::touches
