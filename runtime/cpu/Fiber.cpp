//===- Fiber.cpp - the pool of stacks and the switch between them ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "Fiber.h"
#include <cstdint>
#include <sys/mman.h>
#ifndef __x86_64__
#include <boost/context/detail/fcontext.hpp>
#endif
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define KBRT_HAS_ASAN
#endif
#endif

namespace kbrt {

/// A thread that ended in the middle of its frames left marks of AddressSanitizer's on its stack.
static void forgetFrames([[maybe_unused]] void *top, [[maybe_unused]] size_t bytes) {
#ifdef KBRT_HAS_ASAN
  __asan_unpoison_memory_region(static_cast<char *>(top) - bytes, bytes);
#endif
}

bool StackPool::create(unsigned n, size_t bytes) {
  stride = bytes + guardBytes;
  count = n;
  void *p =
      mmap(nullptr, stride * n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  base = static_cast<char *>(p);
  return true;
}

bool StackPool::open(unsigned n) {
  for (; opened < n; ++opened)
    if (mprotect(base + stride * opened + guardBytes, stride - guardBytes,
                 PROT_READ | PROT_WRITE) != 0)
      return false;
  return true;
}

#ifdef __x86_64__

// System V: rbx, rbp and r12 to r15 are the callee's to keep. The last jump is an indirect one
// because the processor predicts those, and no return without a call.
asm(R"(
  .text
  .p2align 4
  .globl kbrt_switch_context
  .hidden kbrt_switch_context
  .type kbrt_switch_context, @function
kbrt_switch_context:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rax
  jmp *%rax
  .size kbrt_switch_context, .-kbrt_switch_context
)");

Context makeContext(void *top, size_t bytes, void (*entry)()) {
  forgetFrames(top, bytes);
  auto *word = reinterpret_cast<uint64_t *>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));
  *--word = 0; // where entry would return to, which also aligns its frame
  *--word = reinterpret_cast<uint64_t>(entry);
  for (int savedRegister = 0; savedRegister < 6; ++savedRegister)
    *--word = 0;
  return word;
}

#else

namespace fc = boost::context::detail;

/// The entry of the context that is made and not yet started; contexts start right away.
static void (*freshEntry)();

static void start(fc::transfer_t from) {
  *static_cast<Context *>(from.data) = from.fctx;
  freshEntry();
}

Context makeContext(void *top, size_t bytes, void (*entry)()) {
  freshEntry = entry;
  return fc::make_fcontext(top, bytes, start);
}

extern "C" void kbrt_switch_context(Context *from, Context to) {
  fc::transfer_t back = fc::jump_fcontext(to, from);
  *static_cast<Context *>(back.data) = back.fctx;
}

#endif

} // namespace kbrt
