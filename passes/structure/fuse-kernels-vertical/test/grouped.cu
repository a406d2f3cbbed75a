// A convolution and what is done to its output by channel: two dimensions of the first launch are one of the second.
// RUN: kb-opt -passes=fuse-kernels-vertical --quiet --remarks-file=%t.yaml -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: correct
#include <cstdio>
#include <cstdlib>

__global__ void convolve(float *out, const float *in, const float *taps, int filters, int height, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, f = blockIdx.z;
  if (x >= width || y >= height || f >= filters)
    return;
  float sum = 0.0f;
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx)
      sum += in[(y + dy) * (width + 2) + x + dx] * taps[(f * 3 + dy) * 3 + dx];
  out[(f * height + y) * width + x] = sum;
}

__global__ void biasRelu(float *x, const float *bias, int channels, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= channels * pixels)
    return;
  float value = x[i] + bias[i / pixels];
  x[i] = value > 0.0f ? value : 0.0f;
}

// REMARK: joined 2 launches in ''convolve{{B}}iasRelu''
// REMARK: a point of the second launch does not need one element of ''out'' for each
// CHECK: __global__ void convolve{{B}}iasRelu(
// CHECK-NOT: pixels
// CHECK: float [[VALUE:.*]] = sum + bias[f];
// CHECK-NEXT: out[{{.*}}] = [[VALUE]] > 0.0f ? [[VALUE]] : 0.0f;
// CHECK-LABEL: void layer(
// CHECK: convolve{{B}}iasRelu<<<
// CHECK: } else {
// CHECK-NEXT: convolve<<<
// CHECK-NEXT: biasRelu<<<
void layer(float *out, const float *in, const float *taps, const float *bias, int filters, int height, int width) {
  dim3 block(16, 4), grid((width + 15) / 16, (height + 3) / 4, filters);
  convolve<<<grid, block>>>(out, in, taps, filters, height, width);
  int pixels = height * width;
  biasRelu<<<(filters * pixels + 127) / 128, 128>>>(out, bias, filters, pixels);
}

// Channels of another size are not those of the first launch.
// CHECK-LABEL: void other(
// CHECK-NOT: convolve{{B}}iasRelu
void other(float *out, const float *in, const float *taps, const float *bias, int filters, int height, int width, int pixels) {
  dim3 block(16, 4), grid((width + 15) / 16, (height + 3) / 4, filters);
  convolve<<<grid, block>>>(out, in, taps, filters, height, width);
  biasRelu<<<(filters * pixels + 127) / 128, 128>>>(out, bias, filters, pixels);
}

int main() {
  const int filters = 3, height = 13, width = 22, n = filters * height * width, inputs = (height + 2) * (width + 2);
  float *host = (float *)malloc(n * sizeof(float));
  for (int i = 0; i < n; ++i)
    host[i] = i % 23 * 0.125f - 1.0f;
  float *in, *taps, *bias, *out;
  cudaMalloc(&in, inputs * sizeof(float));
  cudaMalloc(&taps, filters * 9 * sizeof(float));
  cudaMalloc(&bias, filters * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, host, inputs * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(taps, host + 5, filters * 9 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(bias, host + 9, filters * sizeof(float), cudaMemcpyHostToDevice);
  double total = 0;
  auto check = [&]() {
    cudaMemcpy(host, out, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i)
      total += host[i] * (i % 7 + 1);
  };
  layer(out, in, taps, bias, filters, height, width);
  check();
  layer(out, in, taps, bias, 2, height, 0); // without a point
  check();
  other(out, in, taps, bias, filters, height, width, height * width / 2);
  check();
  printf("%.4f\n", total);
}
