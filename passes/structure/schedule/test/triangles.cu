// Triangles of steps: whether a tile has a point follows from its last row and its first column, also where the condition
// compares quotients. The tile is taller than it is wide, so that the diagonal enters tiles at their sides.
// RUN: kb-opt "-passes=schedule{as='contraction bm=128 bn=64 bk=16 tm=8 tn=8 stages=2 vector=1'}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s %}
// RUN: kb-opt "-passes=schedule{as='contraction bm=64 bn=128 bk=8 tm=4 tn=8 stages=3 vector=1'}" --quiet -o %t.wide.cu %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.wide.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s %}
// JUDGE: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {n: 150, k: 9}
//   test-sizes: [{n: 1, k: 1}, {n: 129, k: 17}, {n: 64, k: 3}]
//   parameters:
//     - {name: lower, type: f32, shape: "n * n", role: inout, init: "uniform(-1, 1)"}
//     - {name: upper, type: f32, shape: "n * n", role: inout, init: "uniform(-1, 1)"}
//     - {name: a, type: f32, shape: "n * k", role: in, init: "uniform(-1, 1)"}
//     - {name: n, value: n}
//     - {name: k, value: k}

// CHECK: {{l}}owerStepsTiled(
// CHECK: if (col0 / 8 > (row0 + BM - 1) / 8)
// CHECK-NEXT: return;
__global__ void lowerSteps(float *out, const float *a, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || col >= n || row / 8 < col / 8)
    return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i)
    sum += a[row * k + i] * a[col * k + i];
  out[row * n + col] = sum;
}

// CHECK: {{u}}pperStepsTiled(
// CHECK: if (row0 / 16 > (col0 + BN - 1) / 4)
// CHECK-NEXT: return;
__global__ void upperSteps(float *out, const float *a, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && col < n && row / 16 <= col / 4) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * a[col * k + i];
    out[row * n + col] = sum;
  }
}

void run(float *lower, float *upper, const float *a, int n, int k) {
  dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
  lowerSteps<<<grid, block>>>(lower, a, n, k);
  upperSteps<<<grid, block>>>(upper, a, n, k);
}
