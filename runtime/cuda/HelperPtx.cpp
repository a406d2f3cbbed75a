//===- HelperPtx.cpp - our own kernels on the device, in PTX --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HelperKernels.h"
#include "PtxHead.h"

#include <cstring>

namespace {

constexpr const char *kernels = R"PTX(
// Waits until words[0] is not 0, at most limit nanoseconds; then words[1] becomes 1.
.visible .entry kb_hold(.param .u64 words, .param .u64 limit)
{
  .reg .pred %p<3>;
  .reg .b32 %r<3>;
  .reg .b64 %d<7>;
  ld.param.u64 %d1, [words];
  ld.param.u64 %d2, [limit];
  mov.u64 %d3, %globaltimer;
LOOP:
  ld.volatile.global.u32 %r1, [%d1];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra DONE;
  mov.u64 %d4, %globaltimer;
  sub.u64 %d5, %d4, %d3;
  setp.lt.u64 %p2, %d5, %d2;
  @%p2 bra LOOP;
  mov.u32 %r2, 1;
  st.volatile.global.u32 [%d1+4], %r2;
DONE:
  ret;
}

.visible .entry kb_empty()
{
  ret;
}

// Reads bytes from base, 16 at a time; bytes is a multiple of 16.
.visible .entry kb_flush(.param .u64 base, .param .u64 bytes)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %d<9>;
  ld.param.u64 %d1, [base];
  ld.param.u64 %d2, [bytes];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mad.lo.u32 %r5, %r1, %r2, %r3;
  mul.lo.u32 %r6, %r2, %r4;
  mul.wide.u32 %d3, %r5, 16;
  mul.wide.u32 %d4, %r6, 16;
  mov.u32 %r11, 0;
FLOOP:
  setp.ge.u64 %p1, %d3, %d2;
  @%p1 bra FDONE;
  add.u64 %d5, %d1, %d3;
  ld.volatile.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d5];
  or.b32 %r11, %r11, %r7;
  add.u64 %d3, %d3, %d4;
  bra FLOOP;
FDONE:
  ret;
}

// out: cycles and nanoseconds before and after a spin of limit nanoseconds.
.visible .entry kb_clock(.param .u64 out, .param .u64 limit)
{
  .reg .pred %p<2>;
  .reg .b64 %d<10>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [limit];
  // Begin on a tick, which can be coarse.
  mov.u64 %d3, %globaltimer;
CTICK:
  mov.u64 %d5, %globaltimer;
  setp.eq.u64 %p1, %d5, %d3;
  @%p1 bra CTICK;
  mov.u64 %d4, %clock64;
CLOOP:
  mov.u64 %d6, %globaltimer;
  sub.u64 %d7, %d6, %d5;
  setp.lt.u64 %p1, %d7, %d2;
  @%p1 bra CLOOP;
  mov.u64 %d8, %clock64;
  st.volatile.global.u64 [%d1], %d4;
  st.volatile.global.u64 [%d1+8], %d5;
  st.volatile.global.u64 [%d1+16], %d8;
  st.volatile.global.u64 [%d1+24], %d6;
  ret;
}
)PTX";

/// Adds to *out, for every word i, a mix of i, salt and the word. A word is of PTX's @TYPE@, of
/// 2^@SHIFT@ bytes.
constexpr const char *hashKernel = R"PTX(
.visible .entry @NAME@(.param .u64 base, .param .u64 count, .param .u64 salt, .param .u64 out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %d<20>;
  ld.param.u64 %d1, [base];
  ld.param.u64 %d2, [count];
  ld.param.u64 %d3, [salt];
  ld.param.u64 %d4, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %d5, %r1, %r2;
  cvt.u64.u32 %d6, %r3;
  add.u64 %d5, %d5, %d6;
  mul.wide.u32 %d7, %r2, %r4;
  mov.u64 %d8, 0;
HLOOP:
  setp.ge.u64 %p1, %d5, %d2;
  @%p1 bra HDONE;
  shl.b64 %d9, %d5, @SHIFT@;
  add.u64 %d9, %d1, %d9;
  ld.global.@TYPE@ %r5, [%d9];
  cvt.u64.u32 %d10, %r5;
  add.u64 %d11, %d5, %d3;
  mul.lo.u64 %d11, %d11, -7046029254386353131;
  xor.b64 %d10, %d10, %d11;
  shr.u64 %d12, %d10, 29;
  xor.b64 %d10, %d10, %d12;
  mul.lo.u64 %d10, %d10, -4658895280553007687;
  shr.u64 %d12, %d10, 32;
  xor.b64 %d10, %d10, %d12;
  add.u64 %d8, %d8, %d10;
  add.u64 %d5, %d5, %d7;
  bra HLOOP;
HDONE:
  red.global.add.u64 [%d4], %d8;
  ret;
}
)PTX";

std::string hashOf(const std::string &name, const std::string &type, const std::string &shift) {
  std::string text = hashKernel;
  for (const auto &[hole, value] :
       {std::pair("@NAME@", name), {"@TYPE@", type}, {"@SHIFT@", shift}})
    text.replace(text.find(hole), std::strlen(hole), value);
  return text;
}

} // namespace

std::string kbrt::cuda::helperPtx() {
  return ptxHead + kernels + hashOf("kb_hash4", "u32", "2") + hashOf("kb_hash1", "u8", "0");
}
