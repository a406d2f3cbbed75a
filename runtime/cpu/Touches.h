//===- Touches.h - what one launch touches ----------------------*- C++ -*-===//
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
/// A thread accesses [offset, offset + bytes) of the arena.
void note(uint64_t offset, uint64_t bytes, AccessKind kind, bool isAtomic);
/// What was touched since `begin`; nothing if there was no memory to remember it.
std::optional<Touched> end();

} // namespace kbrt::touches
#endif
