// A thread that reads a row of its own reads several elements at a time, in the order of its loop; the last points of a line that vectors do not cover are computed one by one.
// RUN: kb-opt "-passes=schedule{as=map}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {n: 36, m: 68}
//   test-sizes: [{n: 1, m: 1}, {n: 33, m: 70}, {n: 64, m: 4}, {n: 35, m: 8}]
//   parameters:
//     - {name: a, type: f32, shape: "n", role: out}
//     - {name: b, type: f32, shape: "n * m", role: inout}
//     - {name: c, type: f64, shape: "n", role: out}
//     - {name: d, type: f16, shape: "n + m", role: out}
//     - {name: x, type: f32, shape: "n * m", role: in, init: "uniform(-1, 1)"}
//     - {name: h, type: f16, shape: "n + m", role: in, init: "uniform(-1, 1)"}
//     - {name: n, value: n}
//     - {name: m, value: m}
#include <cuda_fp16.h>

// REMARK: added 'row{{S}}umsWide' (map block=256 inflight=4 lanes=i rows=0 vector=4)
// CHECK: row{{S}}umsWide(
// CHECK: const int whole = m % 4 == 0 ? m / 4 * 4 : 0;
// CHECK: #pragma unroll 4
// CHECK-NEXT: for (int jFirst = 0; jFirst < whole; jFirst += 4) {
// CHECK-NEXT: alignas(16) float xs[4];
// CHECK-NEXT: *reinterpret_cast<float4 *>(xs) =
// CHECK: s += xs[
// CHECK: for (int j = whole; j < m; ++j)
// CHECK-NEXT: s += x[
__global__ void rowSums(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j)
      s += x[i * m + j];
    y[i] = s;
  }
}

// What a loop stores lies side by side as well.
// CHECK: runs_{{w}}ide(
// CHECK: for (int jFirst = 0; jFirst < whole; jFirst += 4)
// CHECK: *reinterpret_cast<float4 *>(&y[
__global__ void runs(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j) {
      s = 0.5f * s + x[i * m + j];
      y[i * m + j] = y[i * m + j] + s;
    }
  }
}

// Of a constant number of elements none is left; doubles are read two at a time.
// CHECK: few_{{w}}ide(
// CHECK: for (int jFirst = 0; jFirst < 4; jFirst += 4)
__global__ void few(double *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    double s = 0;
    for (int j = 0; j < 4; ++j)
      s += x[i * 4 + j];
    y[i] = s;
  }
}

// CHECK: scale_{{w}}ide(
// CHECK: const int whole = n - n % width;
// CHECK: if (blockIdx.x == 0 && threadIdx.x < n % width) {
// CHECK: if (first >= whole)
__global__ void scale(__half *y, const __half *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    __half by = __float2half(0.5f);
    y[i] = __hmul(by, x[i]);
  }
}

void run(float *a, float *b, double *c, __half *d, const float *x, const __half *h, int n, int m) {
  rowSums<<<(n + 31) / 32, 32>>>(a, x, n, m);
  runs<<<(n + 31) / 32, 32>>>(b, x, n, m);
  if (m >= 4)
    few<<<(n + 31) / 32, 32>>>(c, x, n);
  else
    cudaMemset(c, 0, n * sizeof(double));
  scale<<<(n + m + 31) / 32, 32>>>(d, h, n + m);
}
