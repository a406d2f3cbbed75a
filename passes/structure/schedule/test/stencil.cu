// Neighbours share loads, at sizes that no tile divides, at size 1 and without a point; in two and three dimensions.
// RUN: kb-opt "-passes=schedule" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt "-passes=schedule{as='stencil along=z inflight=2 block=64 rows=2'}" --quiet -o %t.z.cu %s
// RUN: %code %t.z.cu | FileCheck --check-prefix=ALONGZ %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.z.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s %}
// JUDGED: {{^}}correct
#include <cstdio>
#include <vector>

constexpr int W = 80, H = 50, N = 18;

// CHECK: blur_{{t}}iled(
// CHECK: if (yFirst + count <= h - 1 && 1 <= x && 1 <= yFirst)
// CHECK: float ins[count + 2];
// CHECK: ins[u] = in[
// CHECK: for (int r = 0; r < count; ++r)
// CHECK: ins[r] + ins[r + 2]
// CHECK: for (int y = yFirst; y < min(yFirst + count, h - 1); ++y)
__global__ void blur(float *out, const float *in, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h)
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
      out[(y - 1) * (W - 2) + x - 1] = 0.25f * (in[(y - 1) * W + x] + in[(y + 1) * W + x] + in[y * W + x - 1] + in[y * W + x + 1]);
}

// ALONGZ: diffuse_{{t}}iled(
// ALONGZ: const int zFirst = blockIdx.z * count;
// CHECK: diffuse_{{t}}iled(
// CHECK: const int z = blockIdx.z;
// CHECK: const int yFirst = (blockIdx.y * rows + threadIdx.y) * count;
__global__ void diffuse(float *out, const float *in, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x < n && y < n && z < n)
    out[(z * N + y) * N + x] = in[((z + 1) * (N + 2) + y) * (N + 2) + x] + in[((z + 1) * (N + 2) + y + 1) * (N + 2) + x] +
                               in[((z + 2) * (N + 2) + y) * (N + 2) + x] + in[(z * (N + 2) + y + 2) * (N + 2) + x];
}

// Rows as long as the launch says.
// CHECK: difference_{{t}}iled(
// CHECK: ins[u] = in[x + (size_t)(yFirst + u) * w];
// CHECK: ins[r + 1] - ins[r]
__global__ void difference(float *out, const float *in, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h)
    out[y * w + x] = in[(y + 1) * w + x] - in[y * w + x];
}

int main() {
  const int size = (N + 2) * (N + 2) * (N + 2), blurred = (W - 2) * (H - 2), diffused = N * N * N;
  std::vector<float> host(size);
  for (int i = 0; i < size; ++i)
    host[i] = i % 31 - 15;
  float *in, *plane, *cube;
  cudaMalloc(&in, size * sizeof(float));
  cudaMalloc(&plane, blurred * sizeof(float));
  cudaMalloc(&cube, diffused * sizeof(float));
  cudaMemcpy(in, host.data(), size * sizeof(float), cudaMemcpyHostToDevice);
  double sum = 0;
  auto take = [&](const float *from, int count) {
    cudaMemcpy(host.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; ++i)
      sum += host[i] * (i % 7 + 1);
  };
  for (int w : {W, 33, 3, 1}) {
    int h = w == W ? H : w == 33 ? 0 : w + 5;
    blur<<<dim3((w + 31) / 32, (h + 8) / 8), dim3(32, 8)>>>(plane, in, w, h);
    take(plane, blurred);
  }
  for (int n : {N, 4, 1}) {
    diffuse<<<dim3((n + 31) / 32, (n + 7) / 8, n), dim3(32, 8)>>>(cube, in, n);
    take(cube, diffused);
  }
  for (int w : {78, 5, 1}) {
    int h = w == 78 ? H - 2 : 3;
    difference<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(plane, in, w, h);
    take(plane, blurred);
  }
  printf("%.3f\n", sum);
}
