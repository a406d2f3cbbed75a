// A kernel in other words: other names, parameters and operands in another order, another launch.
// RUN: kb-opt --pass-dir=%S/Inputs -passes=row-norm-by-warp -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt --pass-dir=%S/Inputs --list-passes | FileCheck --check-prefix=LIST %s
// REMARK: remark: did to 'scaleRows' what the examples of 'row-norm-by-warp' did to 'rowNorm'
// REMARK: does not apply: it is another kernel than that of 'row-norm-by-warp'
// LIST: row-norm-by-warp
// JUDGED: {{^}}correct

// CHECK: __device__ float [[HELPER:sumOfWarp[0-9]+]](float value) {
// CHECK: __global__ void scaleRows(float *result, const float *lane, int count, int length) {
// CHECK: int r = blockIdx.x, [[LANE:lane[0-9]+]] = threadIdx.x;
// CHECK: for (int k = [[LANE]]; k < length; k += 32)
// CHECK: total += lane[r * length + k] * lane[r * length + k];
// CHECK: float factor = rsqrtf([[HELPER]](total) + 1.0f);
// CHECK: scaleRows<<<(n - 1), 32, 0, stream>>>(y, x, (n - 1), width);
#include <cstdio>
#include <vector>

__device__ int sumOfWarp; // a name that the recipe wants

__global__ void scaleRows(const float *lane, float *result, int length, int count) {
  int r = threadIdx.x + blockDim.x * blockIdx.x;
  if (count > r) {
    float total = 0;
    for (int k = 0; k < length; k++)
      total += lane[k + r * length] * lane[r * length + k];
    float factor = rsqrtf(1.0f + total);
    for (int k = 0; length > k; ++k)
      result[r * length + k] = lane[length * r + k] * factor;
  }
}

__global__ void otherRows(const float *x, float *y, int length, int count) { // adds 2
  int r = threadIdx.x + blockDim.x * blockIdx.x;
  if (count > r) {
    float total = 0;
    for (int k = 0; k < length; k++)
      total += x[k + r * length] * x[r * length + k];
    float factor = rsqrtf(2.0f + total);
    for (int k = 0; length > k; ++k)
      y[r * length + k] = x[length * r + k] * factor;
  }
}

int main() {
  int n = 65, width = 70;
  std::vector<float> host(n * width);
  for (int i = 0; i < n * width; ++i)
    host[i] = float(i % 17) - 8;
  float *x, *y;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&x, sizeof(float) * n * width);
  cudaMalloc(&y, sizeof(float) * n * width);
  cudaMemset(y, 0, sizeof(float) * n * width);
  cudaMemcpy(x, host.data(), sizeof(float) * n * width, cudaMemcpyHostToDevice);
  scaleRows<<<(n + 63) / 64, 64, 0, stream>>>(x, y, width, n - 1);
  cudaStreamSynchronize(stream);
  cudaMemcpy(host.data(), y, sizeof(float) * n * width, cudaMemcpyDeviceToHost);
  otherRows<<<2, 64>>>(y, x, width, n);
  cudaMemcpy(host.data(), x, sizeof(float) * n * width, cudaMemcpyDeviceToHost);
  printf("%g\n", host[width]);
}
