// RUN: kb-opt -passes=cache-hint-streaming --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// A grid-stride loop in a template; both types have the hints.
// CHECK-LABEL: void strided
// CHECK: __stcs(&y[i + 1], __ldcs(&x[i]) + T(1));
// REMARK: Function: strided
// REMARK: String: 'marked the loads of ''x'' as a stream'
// REMARK: String: 'marked the stores to ''y'' as a stream'
template <typename T> __global__ void strided(const T *__restrict__ x, T *__restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i + 1] = x[i] + T(1);
}
template __global__ void strided<float>(const float *, float *, int);
template __global__ void strided<unsigned char>(const unsigned char *, unsigned char *, int);

// Vectors, as vectorize-loads writes them, pointers with an offset, and an element's member.
// CHECK-LABEL: void vectors
// CHECK: float4 v = __ldcs(reinterpret_cast<const float4 *>(&x[4 * i]));
// CHECK: __stcs(reinterpret_cast<float4 *>(y + 4 * i), v);
// CHECK: __stcs(z + i, __ldcs(&pairs[i]).y);
__global__ void vectors(const float *__restrict__ x, const float2 *__restrict__ pairs, float *__restrict__ y,
                        float *__restrict__ z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 v = *reinterpret_cast<const float4 *>(&x[4 * i]);
    *reinterpret_cast<float4 *>(y + 4 * i) = v;
    *(z + i) = pairs[i].y;
  }
}

// Stores keep their order by themselves: nothing needs to be known of other arrays.
// CHECK-LABEL: void mayOverlap
// CHECK: __stcs(&y[i], x[i]);
__global__ void mayOverlap(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i];
}

// Two places that never meet.
// CHECK-LABEL: void halves
// CHECK: __stcs(&y[i], __ldcs(&x[i]) + __ldcs(&x[i + n]));
__global__ void halves(const int *__restrict__ x, int *__restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + x[i + n];
}
