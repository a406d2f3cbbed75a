//===- Touches.h - what one launch touches ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which bytes of device memory a launch reads, writes and changes atomically: three bits a
// byte of the pages that it touches. Kept only while a launch is recorded.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_TOUCHES_H
#define KBRT_TOUCHES_H

#include "Intervals.h"
#include "Machine.h"

namespace kbrt::touches {

/// The bytes that one operation touches.
struct Touched {
  IntervalSet reads, writes;
  /// By operations that read and write at once, and loads that are atomic: in any order they give
  /// the same. An atomic store is a write, because one over another is not.
  IntervalSet atomics;
};

/// Whether a launch is being recorded.
extern bool isRecording;
void begin();

constexpr uint64_t pageBytes = 4096, wordBits = 64, words = pageBytes / wordBits;
enum Use { Reads, Writes, Atomics, uses };
/// One bit a byte and use.
struct Page {
  uint64_t bits[uses][words];
};
/// By page of the arena; null where nothing was touched.
extern Page **directory;
void noteAnywhere(uint64_t offset, uint64_t bytes, Use use);

/// A thread accesses [offset, offset + bytes) of the arena.
inline void note(uint64_t offset, uint64_t bytes, Use use) {
  Page *page = directory[offset / pageBytes];
  const uint64_t in = offset % wordBits;
  if (!page || in + bytes > wordBits || bytes >= wordBits)
    return noteAnywhere(offset, bytes, use);
  page->bits[use][offset % pageBytes / wordBits] |= ((uint64_t(1) << bytes) - 1) << in;
}
/// What was touched since `begin`; nothing if there was no memory to remember it.
std::optional<Touched> end();

} // namespace kbrt::touches
#endif
