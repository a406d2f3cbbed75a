//===- Fiber.cpp - the pool of stacks -------------------------------------===//
#include "Fiber.h"
#include <sys/mman.h>

namespace kbrt {

bool StackPool::create(unsigned n, size_t bytes) {
  stride = bytes + guardBytes;
  count = n;
  void *p =
      mmap(nullptr, stride * n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  base = static_cast<char *>(p);
  for (unsigned i = 0; i < n; ++i)
    if (mprotect(base + stride * i + guardBytes, bytes, PROT_READ | PROT_WRITE) != 0)
      return false;
  return true;
}

} // namespace kbrt
