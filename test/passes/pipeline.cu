// Pipelines: order, options, scoping, replay, bisection, timing.
// RUN: kb-opt -passes='unroll-loop{factor=8},unroll-loop{factor=2}' --print-pipeline --remarks-file=%t.yaml -o %t %s 2>%t.err
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// The second element changed nothing, so the printed pipeline is shorter, and replays.
// RUN: FileCheck %s --check-prefix=PRINTED < %t.err
// PRINTED: {{^}}unroll-loop{factor=8}{{$}}
// RUN: kb-opt -passes='unroll-loop{factor=8}' --quiet -o %t.again %s
// RUN: diff %t %t.again

// CHECK: void first
// CHECK: #pragma unroll 8
// CHECK: void second
// CHECK: #pragma unroll 8
// REMARK: !Passed
// REMARK: Function: 'ns::first'
// REMARK: !Passed
// REMARK: Function: second
// The second pass sees the first one's result.
// REMARK: !Missed
// REMARK: Function: 'ns::first'
// REMARK: String: the loop carries a pragma already

// RUN: kb-opt -passes='unroll-loop{kernel=second}' --quiet -o - %s | grep -v '^ *//' | FileCheck %s --check-prefix=SECOND
// SECOND-NOT: #pragma
// SECOND: void second
// SECOND: #pragma unroll 4
// RUN: kb-opt -passes='unroll-loop{kernel=first}' --quiet -o - %s | grep -v '^ *//' | FileCheck %s --check-prefix=FIRST
// RUN: kb-opt -passes='unroll-loop{kernel=ns::first}' --quiet -o - %s | grep -v '^ *//' | FileCheck %s --check-prefix=FIRST
// FIRST: #pragma unroll 4
// FIRST: void second
// FIRST-NOT: #pragma
// RUN: kb-opt -passes='unroll-loop{site=2}' --quiet -o - %s | grep -v '^ *//' | FileCheck %s --check-prefix=SECOND

// RUN: kb-opt -passes=unroll-loop --opt-bisect-limit=1 -o %t %s 2>&1 | FileCheck %s --check-prefix=BISECT
// BISECT: running rewrite (1)
// BISECT: NOT running rewrite (2)
// RUN: grep -v '^ *//' %t | FileCheck %s --check-prefix=FIRST
// RUN: kb-opt -passes=unroll-loop --opt-bisect-limit=0 --quiet -o %t %s
// RUN: diff %s %t

// RUN: kb-opt -passes=unroll-loop --time-passes --quiet -o %t %s 2>&1 | FileCheck %s --check-prefix=TIME
// TIME: Execution time report
// TIME: unroll-loop

// A diff is what stdout shows by default.
// RUN: kb-opt -passes='unroll-loop{kernel=second}' --quiet %s | grep -v '//' | FileCheck %s --check-prefix=DIFF
// DIFF: --- a/
// DIFF: +++ b/
// DIFF: @@
// DIFF: {{^[+] *}}#pragma unroll 4

namespace ns {
__global__ void first(const float *x, float *y, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += x[k];
  y[threadIdx.x] = sum;
}
} // namespace ns

__global__ void second(const float *x, float *y, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += x[k];
  y[threadIdx.x] = sum;
}
