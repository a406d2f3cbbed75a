// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// RUN: kb-opt -passes=schedule --quiet -o %t.cu %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s
// REQUIRES: sandbox
// A kernel with a loop over vectors and one over the elements that are left is what the first loop computes, and requires that nothing is left.

#include <cstdio>
#include <vector>

// JUDGE: CPU device checks passed
// JUDGE: correct

// CHECK-LABEL: kb.nest @_Z4sigm{{.*}} dims ["i"] {{.*}} requires [{{.*}}n mod 4
// CHECK-NOT: kb.when
__global__ void sigm(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int vectors = n / 4;
  if (i < vectors) {
    float4 v = reinterpret_cast<const float4 *>(x)[i];
    v.x = 1.0f / (1.0f + expf(-v.x));
    v.y = 1.0f / (1.0f + expf(-v.y));
    v.z = 1.0f / (1.0f + expf(-v.z));
    v.w = 1.0f / (1.0f + expf(-v.w));
    reinterpret_cast<float4 *>(y)[i] = v;
  }
  for (int j = 4 * vectors + i; j < n; j += blockDim.x)
    y[j] = 1.0f / (1.0f + expf(-x[j]));
}

// The last thread of the grid-stride loop takes what is left.
// CHECK-LABEL: kb.nest @_Z6negate{{.*}} requires [{{.*}}n mod 2
__global__ void negate(const float *x, float *y, unsigned n) {
  unsigned pairs = n >> 1, i = blockIdx.x * blockDim.x + threadIdx.x;
  while (i < pairs) {
    float2 v = reinterpret_cast<const float2 *>(x)[i];
    reinterpret_cast<float2 *>(y)[i] = make_float2(-v.x, -v.y);
    i += gridDim.x * blockDim.x;
  }
  if ((n & 1) && i == pairs)
    y[n - 1] = -x[n - 1];
}

// What can be raised for all sizes is.
// CHECK-LABEL: kb.nest @_Z4half{{.*}}
// CHECK: kb.when {{.*}} (n mod 4) - i - 1 >= 0
__global__ void half(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4)
    for (int k = 0; k < 4; ++k)
      y[4 * i + k] = 0.5f * x[4 * i + k];
  if (i < n % 4)
    y[n / 4 * 4 + i] = 0.5f * x[n / 4 * 4 + i];
}

// CHECK-LABEL: kb.nest @_Z6copied{{.*}} requires [{{.*}}n mod 4
__global__ void copied(const float *x, float *y, long long n) {
  long long whole = n & ~3ll, i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * 4;
  if (i < whole)
    *(float4 *)(y + i) = *(const float4 *)(x + i);
  if (threadIdx.x == 0)
    for (long long j = whole + blockIdx.x; j < n; ++j)
      y[j] = x[j];
}

// Threads add to elements that others add to, whatever n is.
// CHECK: kb.unraised @_Z5blend{{.*}} "different threads may touch the same element of 'y'"
__global__ void blend(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4)
    y[i] = x[i];
  for (int j = n / 4 + i; j < n; j += 1)
    y[j] = x[j];
}

int main() {
  for (unsigned n : {4096u, 4099u}) {
    std::vector<float> host(n);
    for (unsigned i = 0; i < n; ++i)
      host[i] = float(i % 31) / 8 - 2;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    constexpr unsigned part = 4352;
    cudaMalloc(&y, 3 * part * sizeof(float));
    cudaMemset(y, 0, 3 * part * sizeof(float));
    cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    sigm<<<(n + 255) / 256, 256>>>(x, y, n);
    negate<<<4, 128>>>(x, y + part, n);
    half<<<(n + 255) / 256, 256>>>(x, y + 2 * part, n);
    std::vector<float> out(3 * part);
    cudaMemcpy(out.data(), y, 3 * part * sizeof(float), cudaMemcpyDeviceToHost);
    for (float value : out)
      printf("%g\n", value);
    cudaFree(x);
    cudaFree(y);
  }
}
