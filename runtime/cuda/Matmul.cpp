//===- Matmul.cpp - Matrix products of libraries on a GPU -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Matmul.h"
#include "PtxHead.h"
#include "kbrt/MatmulLaunches.h"

#include <limits>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// Blocks of 16 by 16 threads, one per element of C, with tiles of A and B in shared memory. The
/// element (i, l) of op(A) lies ai * i + al * l elements after A's first one, and so on; as, bs and
/// cs are the distances of matrices. Threads load along the direction in which elements are
/// neighbours.
constexpr const char *matmulPtx = R"PTX(
.visible .entry kb_matmul(.param .u64 a, .param .u64 b, .param .u64 c,
                          .param .u64 as, .param .u64 bs, .param .u64 cs,
                          .param .u32 ai, .param .u32 al, .param .u32 bl, .param .u32 bj,
                          .param .u32 cj, .param .u32 m, .param .u32 n, .param .u32 k,
                          .param .f32 alpha, .param .f32 beta)
{
  .reg .pred %p<8>;
  .reg .b32 %x, %y, %ai, %al, %bl, %bj, %m, %n, %k, %i0, %j0, %ia, %la, %lb, %jb, %l, %r<16>;
  .reg .b64 %a, %b, %c, %z, %stepA, %stepB, %d<8>;
  .reg .f32 %sum, %f<8>;
  .shared .align 4 .b8 ta[1088]; // 16 rows of 17 elements: no two threads meet in a bank
  .shared .align 4 .b8 tb[1088];

  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mov.u32 %r1, %ctaid.x;
  shl.b32 %i0, %r1, 4;
  mov.u32 %r1, %ctaid.y;
  shl.b32 %j0, %r1, 4;
  mov.u32 %r1, %ctaid.z;
  cvt.u64.u32 %z, %r1;
  ld.param.u32 %ai, [ai];
  ld.param.u32 %al, [al];
  ld.param.u32 %bl, [bl];
  ld.param.u32 %bj, [bj];
  ld.param.u32 %m, [m];
  ld.param.u32 %n, [n];
  ld.param.u32 %k, [k];

  // The thread loads op(A)(i0 + ia, la) and op(B)(lb, j0 + jb), and then 16 further in l.
  setp.eq.u32 %p1, %ai, 1;
  selp.b32 %ia, %x, %y, %p1;
  selp.b32 %la, %y, %x, %p1;
  setp.eq.u32 %p2, %bl, 1;
  selp.b32 %lb, %x, %y, %p2;
  selp.b32 %jb, %y, %x, %p2;

  ld.param.u64 %a, [a];
  ld.param.u64 %d1, [as];
  mad.lo.u64 %d1, %d1, %z, 0;
  add.u32 %r1, %i0, %ia;
  setp.lt.u32 %p3, %r1, %m;
  mad.wide.u32 %d1, %r1, %ai, %d1;
  mad.wide.u32 %d1, %la, %al, %d1;
  shl.b64 %d1, %d1, 2;
  add.u64 %a, %a, %d1;
  mul.wide.u32 %stepA, %al, 64;

  ld.param.u64 %b, [b];
  ld.param.u64 %d1, [bs];
  mad.lo.u64 %d1, %d1, %z, 0;
  add.u32 %r1, %j0, %jb;
  setp.lt.u32 %p4, %r1, %n;
  mad.wide.u32 %d1, %r1, %bj, %d1;
  mad.wide.u32 %d1, %lb, %bl, %d1;
  shl.b64 %d1, %d1, 2;
  add.u64 %b, %b, %d1;
  mul.wide.u32 %stepB, %bl, 64;

  // Where it puts them, and where it reads the 16 elements that its own one needs.
  mov.u32 %r2, ta;
  mad.lo.u32 %r3, %la, 68, %r2;
  mad.lo.u32 %r3, %ia, 4, %r3;
  mad.lo.u32 %r5, %x, 4, %r2;
  mov.u32 %r2, tb;
  mad.lo.u32 %r4, %lb, 68, %r2;
  mad.lo.u32 %r4, %jb, 4, %r4;
  mad.lo.u32 %r6, %y, 4, %r2;

  mov.f32 %sum, 0f00000000;
  mov.u32 %l, 0;
NEXT:
  setp.ge.u32 %p5, %l, %k;
  @%p5 bra STORE;
  mov.f32 %f1, 0f00000000;
  mov.f32 %f2, 0f00000000;
  add.u32 %r7, %l, %la;
  setp.lt.and.u32 %p6, %r7, %k, %p3;
  @%p6 ld.global.f32 %f1, [%a];
  add.u32 %r7, %l, %lb;
  setp.lt.and.u32 %p7, %r7, %k, %p4;
  @%p7 ld.global.f32 %f2, [%b];
  st.shared.f32 [%r3], %f1;
  st.shared.f32 [%r4], %f2;
  bar.sync 0;
  mov.u32 %r8, 0;
INNER:
  add.u32 %r9, %r5, %r8;
  add.u32 %r10, %r6, %r8;
  ld.shared.f32 %f3, [%r9];
  ld.shared.f32 %f4, [%r10];
  mul.rn.f32 %f5, %f3, %f4;
  add.rn.f32 %sum, %sum, %f5;
  add.u32 %r8, %r8, 68;
  setp.lt.u32 %p5, %r8, 1088;
  @%p5 bra INNER;
  bar.sync 0;
  add.u64 %a, %a, %stepA;
  add.u64 %b, %b, %stepB;
  add.u32 %l, %l, 16;
  bra NEXT;

STORE:
  add.u32 %r1, %i0, %x;
  add.u32 %r2, %j0, %y;
  setp.ge.u32 %p1, %r1, %m;
  setp.ge.or.u32 %p1, %r2, %n, %p1;
  @%p1 ret;
  ld.param.u64 %c, [c];
  ld.param.u64 %d1, [cs];
  mad.lo.u64 %d1, %d1, %z, 0;
  ld.param.u32 %r3, [cj];
  mad.wide.u32 %d1, %r2, %r3, %d1;
  cvt.u64.u32 %d2, %r1;
  add.u64 %d1, %d1, %d2;
  shl.b64 %d1, %d1, 2;
  add.u64 %c, %c, %d1;
  ld.param.f32 %f1, [alpha];
  ld.param.f32 %f2, [beta];
  mul.rn.f32 %f3, %f1, %sum;
  setp.eq.f32 %p2, %f2, 0f00000000;
  @%p2 bra LAST;
  ld.global.f32 %f4, [%c];
  mul.rn.f32 %f4, %f2, %f4;
  add.rn.f32 %f3, %f3, %f4;
LAST:
  st.global.f32 [%c], %f3;
  ret;
}
)PTX";

} // namespace

CUresult kbrt::cuda::queueMatmul(Device::Handles &h, const MatmulStep &step, uint64_t a, uint64_t b,
                                 uint64_t c) {
  constexpr uint64_t mostLeading = std::numeric_limits<uint32_t>::max();
  for (const MatmulOperand *operand : {&step.a, &step.b, &step.c})
    if (operand->leading > mostLeading)
      return CUDA_ERROR_NOT_SUPPORTED;
  CUresult code = CUDA_SUCCESS;
  if (!h.matmul) {
    CUmodule module = nullptr; // lives as long as the context
    code = h.driver->cuModuleLoadData(&module, (ptxHead + matmulPtx).c_str());
    if (code == CUDA_SUCCESS)
      code = h.driver->cuModuleGetFunction(&h.matmul, module, matmulKernel);
  }
  auto strides = [](const MatmulOperand &operand) {
    auto leading = static_cast<uint32_t>(operand.leading);
    return operand.transposed ? std::pair(leading, 1u) : std::pair(1u, leading);
  };
  auto [ai, al] = strides(step.a);
  auto [bl, bj] = strides(step.b);
  auto cj = static_cast<uint32_t>(step.c.leading);
  uint32_t m = step.m, n = step.n, k = step.k;
  float alpha = step.alpha, beta = step.beta;
  uint64_t as = step.a.stride, bs = step.b.stride, cs = step.c.stride;
  for (const MatmulLaunch &launch : matmulLaunches(step)) {
    uint64_t pa = a + sizeof(float) * launch.matrix * as,
             pb = b + sizeof(float) * (launch.matrix * bs + uint64_t{launch.column} * bj),
             pc = c + sizeof(float) * (launch.matrix * cs + uint64_t{launch.column} * cj);
    n = launch.columns;
    void *arguments[] = {&pa, &pb, &pc, &as, &bs, &cs, &ai,    &al,
                         &bl, &bj, &cj, &m,  &n,  &k,  &alpha, &beta};
    if (code == CUDA_SUCCESS)
      code = h.driver->cuLaunchKernel(h.matmul, launch.grid.x, launch.grid.y, launch.grid.z,
                                      matmulBlock.x, matmulBlock.y, matmulBlock.z, 0, h.stream,
                                      arguments, nullptr);
  }
  return code;
}
