// Floats on the matrix units: only where the promise allows it, and the judge takes it where the workload states what differences are
// accepted. Sizes that do not divide a tile, one row, no terms, sums of different lengths, a value that is not finite where a sum has no term.
// RUN: kb-opt "-passes=schedule{as='contraction bm=64 bn=64 bk=32 tm=32 tn=32 stages=3 core=tf32'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: echo 'program: {arguments: []}' > %t.yaml
// RUN: echo 'tolerance: {relative: 1e-2, absolute: 1e-2}' >> %t.yaml
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=lower-precision --workload=%t.yaml %s | FileCheck --check-prefix=JUDGE %s %}
// JUDGE: {{^}}correct
// Without the owner's word, and where the promise is about order alone, it is refused.
// RUN: %if long %{ not kb-opt --by-passes --judge=%t.cu --promise=lower-precision %s | FileCheck --check-prefix=UNDECLARED %s %}
// UNDECLARED: tf32
// RUN: %if long %{ not kb-opt --by-passes --judge=%t.cu --promise=reassociates --workload=%t.yaml %s | FileCheck --check-prefix=UNDECLARED %s %}
// What schedules by default stays on the arithmetic units.
// RUN: kb-opt -passes=schedule --quiet -o %t.default.cu %s
// RUN: grep -v '^ *//' %t.default.cu | FileCheck --check-prefix=DEFAULT %s
// DEFAULT-NOT: mma.sync
// RUN: kb-opt "-passes=schedule{as='contraction bm=128'}" --quiet -o %t.default.cu %s
// RUN: grep -v '^ *//' %t.default.cu | FileCheck --check-prefix=DEFAULT %s
// RUN: kb-opt -passes='tensor-core-mma{core=tf32}' -o %t.mma.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// REMARK-COUNT-2: core=tf32
#include <cmath>
#include <cstdio>
#include <vector>

// CHECK: cvt.rna.tf32.f32
// CHECK: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// CHECK: product_{{t}}iled(
// CHECK: float (*)[STAGES][BM][BK + 4]
// CHECK: float (*)[STAGES][BK][BN + 8]
// CHECK: causal_{{t}}iled(
// CHECK: ends + 15 >
// CHECK: product_{{t}}iled<<<
__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
  }
}

// Row r has r + 1 terms; both operands have their rows along the terms.
__global__ void causal(float *c, const float *a, const float *b, int m, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i <= row; ++i)
      sum += a[row * m + i] * b[i * n + column];
    c[row * n + column] = sum;
  }
}

int main() {
  const int most = 160 * 160;
  std::vector<float> x(most), y(most);
  for (int i = 0; i < most; ++i)
    x[i] = (i * 37 % 101) * 0.0371f - 1.3f;
  float *a, *b, *c;
  cudaMalloc(&a, most * sizeof(float));
  cudaMalloc(&b, most * sizeof(float));
  cudaMalloc(&c, most * sizeof(float));
  cudaMemcpy(a, x.data(), most * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(b, x.data(), most * sizeof(float), cudaMemcpyHostToDevice);
  int finite = 0;
  int sizes[][3] = {{68, 72, 76}, {1, 4, 4}, {70, 128, 132}, {33, 35, 17}, {5, 4, 0}};
  for (auto &s : sizes) {
    dim3 block(16, 16), grid((s[1] + 15) / 16, (s[0] + 15) / 16);
    product<<<grid, block>>>(c, a, b, s[0], s[1], s[2]);
    cudaMemcpy(y.data(), c, s[0] * s[1] * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < s[0] * s[1]; ++i)
      finite += std::isfinite(y[i]);
  }
  // Only the last row has the last term.
  for (int size : {1, 100, 132}) {
    x[(size - 1) * 40] = INFINITY;
    cudaMemcpy(b, x.data(), most * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(16, 16), grid(3, (size + 15) / 16);
    causal<<<grid, block>>>(c, a, b, size, 40);
    cudaMemcpy(y.data(), c, size * 40 * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < size * 40; ++i)
      finite += std::isfinite(y[i]);
    x[(size - 1) * 40] = 1;
  }
  std::printf("%d finite results\n", finite);
  return 0;
}
