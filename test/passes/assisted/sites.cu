// Sites by matcher and by kind; without a reply nothing is rewritten, and the reason says so.
// RUN: kb-opt -passes=use-ldg-readonly,tma-bulk-copy,swizzle-shared-array,raise-shared-carveout,fuse-kernels-horizontal,invent -o %t %s 2>&1 | FileCheck %s
// RUN: diff %s %t

// CHECK-NOT: remark: {{(applied|rewrote)}}
// Parameters that are only read.
// CHECK: :[[#PRODUCT:]]:{{.*}}: remark: does not apply: needs a model: 'use-ldg-readonly' has no rule that writes it; name a reply, as in {reply=DIGEST}, or let a search ask a model with --llm [use-ldg-readonly, site 1]
// CHECK-NEXT: :[[#PRODUCT]]:{{.*}}[use-ldg-readonly, site 2]
// CHECK-NEXT: :[[#PRODUCT+7]]:{{.*}}[use-ldg-readonly, site 3]
// CHECK-NEXT: :[[#PRODUCT+14]]:{{.*}}[use-ldg-readonly, site 4]
// The loop that halves a shared array, in a template.
// CHECK-NEXT: :[[#PRODUCT+18]]:3: {{.*}}[tma-bulk-copy, site 1]
// CHECK-NEXT: :[[#PRODUCT+15]]:{{.*}}[swizzle-shared-array, site 1]
// By kind: every launch, of which one has another beside it; the kernels.
// CHECK-NEXT: :[[#PRODUCT+29]]:3: {{.*}}[raise-shared-carveout, site 1]
// CHECK-NEXT: :[[#PRODUCT+33]]:50: {{.*}}[raise-shared-carveout, site 2]
// CHECK-NEXT: :[[#PRODUCT+30]]:3: {{.*}}[raise-shared-carveout, site 3]
// CHECK-NEXT: :[[#PRODUCT+29]]:3: {{.*}}[fuse-kernels-horizontal, site 1]
// CHECK-NEXT: :[[#PRODUCT+30]]:3: {{.*}}[fuse-kernels-horizontal, site 2]
// CHECK-COUNT-3: [invent, site
// CHECK-NOT: remark

__global__ void product(const float *a, const float *b, float *c, int n) {
  float sum = 0.0f;
  for (int k = 0; k < n; ++k)
    sum += a[threadIdx.y * n + k] * b[k * n + threadIdx.x];
  c[threadIdx.y * n + threadIdx.x] = sum;
}

__global__ void smooth(const float *x, float *y, int n) {
  int i = threadIdx.x + 1;
  if (i < n - 1)
    y[i] = x[i - 1] + x[i] + x[i + 1];
}

namespace ns {
template <typename T> __global__ void total(const T *x, T *y) {
  __shared__ T part[64];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    *y = part[0];
}
} // namespace ns

void run(const float *a, const float *b, float *c, int n) {
  product<<<1, dim3(n, n)>>>(a, b, c, n);
  ns::total<<<1, 64>>>(a, c);
}

void runAlone(const float *x, float *y, int n) { smooth<<<1, n>>>(x, y, n); }
