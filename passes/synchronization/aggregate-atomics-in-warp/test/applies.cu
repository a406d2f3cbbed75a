// RUN: kb-opt -passes=aggregate-atomics-in-warp --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// A template whose instances agree; the counter is shared, the block has two axes.
// CHECK-LABEL: void flat
// CHECK: if (value[i] == key) {
// CHECK-NEXT: const unsigned [[LANES:lanes[0-9]*]] = __activemask();
// CHECK-NEXT: if ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32 ==
// CHECK-NEXT: __ffs([[LANES]]) - 1)
// CHECK-NEXT: atomicAdd(&found, __popc([[LANES]]));
// REMARK: Function: flat
// REMARK: String: let one lane do atomicAdd for the lanes of its warp
template <typename T> __global__ void flat(const T *value, T key, int *total, int n) {
  __shared__ int found;
  found = 0;
  __syncthreads();
  for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < n; i += blockDim.x * blockDim.y)
    if (value[i] == key)
      atomicAdd(&found, 1);
  __syncthreads();
  if (threadIdx.x + threadIdx.y == 0)
    atomicAdd(total, found);
}

// The loop's counter is no uniform address: lanes may be in different iterations.
// CHECK-LABEL: void perBlock
// CHECK: atomicAdd(&counts[blockIdx.x], static_cast<unsigned long long>(k) * __popc(lanes{{[0-9]*}}));
// CHECK: unsigned long long *const target{{[0-9]*}} = &counts[k];
// REMARK: Function: perBlock
// REMARK: String: let one lane do atomicAdd for the lanes of its warp that share its address
__global__ void perBlock(unsigned long long *counts, int n) {
  constexpr int k = 5;
  atomicAdd(&counts[blockIdx.x], k);
  for (int k = 0; k < n; ++k)
    atomicAdd(&counts[k], 1ull);
}

void run(const float *x, const int *k, int *total, unsigned long long *counts, int n) {
  flat<<<1, dim3(24, 8)>>>(x, 1.0f, total, n);
  flat<<<1, dim3(24, 8)>>>(k, 1, total, n);
  perBlock<<<1, 64>>>(counts, n);
}
