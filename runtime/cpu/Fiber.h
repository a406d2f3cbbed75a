//===- Fiber.h - stacks and context switches --------------------*- C++ -*-===//
//
// Owns the stacks that device threads run on and the switch between them, on
// top of Boost.Context. Knows nothing of scheduling.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_FIBER_H
#define KBRT_FIBER_H

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>

namespace kbrt {

namespace fc = boost::context::detail;

/// A pool of equal stacks, each above an inaccessible guard zone. Mapped once and kept.
class StackPool {
public:
  /// \p count stacks of \p bytes each; false with errno set if they cannot be mapped.
  bool create(unsigned count, size_t bytes);
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
  unsigned count = 0;
};

} // namespace kbrt
#endif
