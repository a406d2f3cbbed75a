// RUN: kb-opt -passes=privatize-atomics --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// A template; a byte is its own range, and the value is evaluated where it was.
// CHECK-LABEL: void bytes
// CHECK: constexpr int [[BINS:privateBins[0-9]*]] = 256;
// CHECK: __shared__ unsigned long long [[OWN:own[0-9]*]]{{.}}[[BINS]]];
// CHECK: for (int [[BIN:bin[0-9]*]] = threadIdx.x; [[BIN]] < [[BINS]]; [[BIN]] += blockDim.x)
// CHECK: atomicAdd(&[[OWN]][x[i]], T(k));
// CHECK: __syncthreads();
// CHECK: atomicAdd(&bins{{.}}[[BIN]]], [[OWN]]{{.}}[[BIN]]]);
// REMARK: Function: bytes
// REMARK: String: 'gave each block 256 counters of its own for ''bins'''
template <typename T>
__global__ void bytes(const unsigned char *__restrict__ x, T *__restrict__ bins, int n, int k) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[x[i]], T(k));
}

// One counter; the load comes first and once, so that it may even overlap. Another shared array has room beside it.
// CHECK-LABEL: void total
// CHECK: constexpr int [[BINS:privateBins[0-9]*]] = 1;
// CHECK: if (x[i] > 0)
// CHECK-NEXT: atomicAdd(&own{{[0-9]*}}[0], 1);
__global__ void total(const int *x, int *count, int n) {
  __shared__ int other[1024];
  int i = threadIdx.x;
  other[i] = i;
  if (x[i] > 0)
    atomicAdd(count, 1);
}

// Sums of floats come in another order, as they do whenever atomics race.
// CHECK-LABEL: void mass
// CHECK: __shared__ float [[OWN:own[0-9]*]]
// CHECK: atomicAdd(&[[OWN]][x[i] & 7], w[i]);
__global__ void mass(const int *__restrict__ x, const float *__restrict__ w, float *__restrict__ sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&sums[x[i] & 7], w[i]);
}

void run(const unsigned char *x, unsigned long long *bins, const int *y, int *count, int n) {
  bytes<<<8, 256>>>(x, bins, n, 3);
  total<<<1, 256>>>(y, count, n);
}
