//===- BrainFloat.cpp - The compiler's helper for bf16 on x86-64 ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns __truncsfbf2, which LLVM calls where it keeps a bf16 in a float register
// and stores it. libgcc has it from version 13 on only.
//
//===----------------------------------------------------------------------===//
#ifdef __x86_64__
#include <bit>
#include <cmath>
#include <cstdint>
#include <emmintrin.h>

/// The ABI returns a bf16 in the lowest bits of xmm0, as it does this type.
extern "C" __attribute__((visibility("default"))) __m128i __truncsfbf2(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  // Ties to even; a NaN becomes PTX's canonical one.
  uint32_t rounded = std::isnan(x) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return _mm_cvtsi32_si128(static_cast<int>(rounded));
}
#endif
