//===- Fiber.h - stacks and context switches --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the stacks that device threads run on and the switch between them: a few
// instructions on x86-64, Boost.Context elsewhere. Knows nothing of scheduling.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_FIBER_H
#define KBRT_FIBER_H

#include <cstddef>
#include <cstdint>

namespace kbrt {

/// Where a suspended context goes on; owned by its stack.
using Context = void *;

/// A context that calls \p entry, which never returns, on the stack below \p top.
Context makeContext(void *top, size_t bytes, void (*entry)());
/// Suspends the running context, whose place is stored in \p from, and goes on with \p to.
/// Keeps the callee-saved registers and no floating-point modes: those are the launch's.
extern "C" __attribute__((visibility("hidden"))) void kbrt_switch_context(Context *from,
                                                                          Context to);

/// A pool of equal stacks, each above an inaccessible guard zone. Mapped once and kept.
class StackPool {
public:
  /// Address space for \p count stacks of \p bytes each; false with errno set if there is none.
  bool create(unsigned count, size_t bytes);
  /// Makes the first \p n stacks usable, those that are so already included.
  bool open(unsigned n);
  bool isCreated() const { return base != nullptr; }
  /// The address where stack \p index starts, growing downwards. Shifted from stack to stack, so
  /// that frames of different threads do not compete for the same cache sets.
  void *top(unsigned index) const {
    return base + stride * (index + 1) - (index * 192) % 4096 - (index % 8) * 4096;
  }
  size_t usableBytes(unsigned index) const {
    return static_cast<size_t>(static_cast<char *>(top(index)) -
                               (base + stride * index + guardBytes));
  }
  bool containsStack(const void *p) const { return p >= base && p < base + stride * count; }
  /// True if \p p lies in a guard zone: a stack overflowed.
  bool inGuard(const void *p) const {
    return containsStack(p) &&
           static_cast<size_t>(static_cast<const char *>(p) - base) % stride < guardBytes;
  }
  /// The stack that contains \p p; call only if containsStack(p).
  unsigned indexOf(const void *p) const {
    return static_cast<unsigned>((static_cast<const char *>(p) - base) / stride);
  }
  static constexpr size_t guardBytes = size_t(1) << 20;

private:
  char *base = nullptr;
  size_t stride = 0;
  unsigned count = 0, opened = 0;
};

} // namespace kbrt
#endif
