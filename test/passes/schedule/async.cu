// Dynamic shared memory above 48 KB is asked for before the launch, and stands in braces with it.
// RUN: kb-opt --quiet "-passes=schedule{as='contraction bm=128 bn=128 bk=32 stages=3'}" -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// CHECK-LABEL: void run
// CHECK: if ({{.*}}) {
// CHECK-NEXT: cudaFuncSetAttribute(product_{{t}}iled, cudaFuncAttributeMaxDynamicSharedMemorySize, [[#BYTES:]]);
// CHECK-NEXT: product_{{t}}iled<<<{{.*}}, [[#BYTES]]>>>(a, b, c, n);
// CHECK-NEXT: } else {
// CHECK-NEXT: product<<<
// CHECK-NEXT: }
__global__ void product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && col < n) {
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
      sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
  }
}

void run(const float *a, const float *b, float *c, int n) {
  product<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n);
}
