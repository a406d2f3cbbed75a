// All points read the same elements in a loop: bodies that attract each other, nearest neighbours, batches of them; at sizes that no tile
// divides, at size 1 and without a point.
// RUN: kb-opt "-passes=schedule{as='reuse block=64 bk=32 inflight=1'}" --quiet --remarks-file=%t.yaml -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt "-passes=schedule{as='reuse block=32 bk=16 inflight=4'}" --quiet -o %t.four.cu %s
// RUN: %code %t.four.cu | FileCheck --check-prefix=FOUR %s
// RUN: kb-opt --by-passes --judge=%t.four.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// RUN: FileCheck --check-prefix=MISSED %s < %t.yaml
// JUDGED: {{^}}correct
#include <cstdio>
#include <vector>

// CHECK: attract_{{t}}iled(
// CHECK: const int i = min(point, n - 1);
// CHECK: __shared__ __align__(16) float4 poses[tile];
// CHECK: for (int jFirst = 0; jFirst < n; jFirst += tile) {
// CHECK-NEXT: const int terms = min(tile, n - jFirst);
// CHECK-NEXT: for (int e = threadIdx.x; e < terms; e += threads)
// CHECK-NEXT: poses[e] = pos[jFirst + e];
// CHECK-NEXT: __syncthreads();
// CHECK-NEXT: for (int e = 0; e < terms; ++e) {
// CHECK-NEXT: float4 q = poses[e];
// CHECK: __syncthreads();
// CHECK: if (point < n)
// CHECK-NEXT: acc[i] =
// FOUR: attract_{{t}}iled(
// FOUR: float ax[count];
// FOUR: const int i = min(point + r * threads, n - 1);
// FOUR: ax[r] = 0;
// FOUR: for (int e = 0; e < terms; ++e) {
// FOUR-NEXT: #pragma unroll
// FOUR-NEXT: for (int r = 0; r < count; ++r) {
// FOUR-NEXT: float4 q = poses[e];
// FOUR: ax[r] += dx * s;
// FOUR: if (point + r * threads < n) {
__global__ void attract(float4 *acc, const float4 *pos, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float4 p = pos[i];
  float ax = 0, ay = 0;
  for (int j = 0; j < n; ++j) {
    float4 q = pos[j];
    float dx = q.x - p.x, dy = q.y - p.y, s = q.w / (dx * dx + dy * dy + 0.01f);
    ax += dx * s;
    ay += dy * s;
  }
  acc[i] = make_float4(ax, ay, 0, 0);
}

// One iteration is left out, and numbers of a body lie side by side. Velocities are changed in place.
// CHECK: push_{{t}}iled(
// CHECK: float v;
// CHECK: if (point < n)
// CHECK-NEXT: v = vel[i];
// CHECK: bodieses[e] = bodies[(size_t)jFirst * 3 + e];
// CHECK: if (j != i)
// CHECK-NEXT: v += step * bodieses[e * 3 + 2]
// CHECK: if (point < n)
// CHECK-NEXT: vel[i] = v;
__global__ void push(float *vel, const float *bodies, float step, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = vel[i];
    for (int j = 0; j < n; ++j)
      if (j != i)
        v += step * bodies[3 * j + 2] * (bodies[3 * j] - bodies[3 * i] + bodies[3 * j + 1]);
    vel[i] = v;
  }
}

// A sample of each batch and its features; the nearest one.
// CHECK: nearest_{{t}}iled(
// CHECK: const int b = blockIdx.y;
// CHECK: sampleses[tile * 4];
// CHECK: for (int k = 0; k < 4; ++k) {
// CHECK: sampleses[e * 4 + k]
__global__ void nearest(float *best, const float *query, const float *samples, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
  if (i >= n)
    return;
  float least = 1e30f;
  for (int j = 0; j < m; ++j) {
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
      float d = query[(b * n + i) * 4 + k] - samples[(b * m + j) * 4 + k];
      sum += d * d;
    }
    least = fminf(least, sum);
  }
  best[b * n + i] = least;
}

// As many features as the launch says, up to 64.
// CHECK: features_{{t}}iled(
// CHECK: sampleses[tile * 64];
// CHECK: e < terms * d; e += threads)
// CHECK-NEXT: sampleses[e] = samples[(size_t)jFirst * d + e];
// CHECK: sampleses[e * d + k]
__global__ void features(float *best, const float *query, const float *samples, int n, int m, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float least = 1e30f;
  int at = -1;
  for (int j = 0; j < m; ++j) {
    float sum = 0;
    for (int k = 0; k < d; ++k)
      sum += fabsf(query[i * d + k] - samples[j * d + k]);
    if (sum < least) {
      least = sum;
      at = j;
    }
  }
  best[i] = at;
}

// Two loops of each pixel of an image over the same lights.
// CHECK: shade_{{t}}iled(
// CHECK: h * w
// CHECK: lightses[e] =
// CHECK: lightses2[e] =
__global__ void shade(float *image, const float *lights, int count, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h)
    return;
  float most = 0, all = 0;
  for (int l = 0; l < count; ++l)
    most = fmaxf(most, lights[l] * x - y);
  for (int l = 0; l < count; ++l)
    all += lights[l] / (1 + most + x);
  image[y * w + x] += all;
}

// MISSED: Function: {{.*}}rowSums
// MISSED: its points read no common elements in a loop
__global__ void rowSums(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0;
  for (int j = 0; j < m; ++j)
    sum += x[i * m + j];
  y[i] = sum;
}

// An element that no point may read is not loaded.
// MISSED: Function: {{.*}}chosen
// MISSED: its points read no common elements in a loop
__global__ void chosen(float *y, const float *x, float limit, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0;
  for (int j = 0; j < m; ++j)
    if (j < limit)
      sum += x[j] * i;
  y[i] = sum;
}

// CHECK: n > 1
// CHECK: push_{{t}}iled<<<
int main() {
  const int most = 150, size = most * most;
  std::vector<float> host(size);
  for (int i = 0; i < size; ++i)
    host[i] = i * 37 % 101 / 16.0f - 3;
  float *in, *out, *more;
  cudaMalloc(&in, size * sizeof(float));
  cudaMalloc(&out, size * sizeof(float));
  cudaMalloc(&more, size * sizeof(float));
  cudaMemcpy(in, host.data(), size * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(more, host.data(), size * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, size * sizeof(float));
  double sum = 0;
  auto take = [&] {
    cudaMemcpy(host.data(), out, size * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < size; ++i)
      sum += host[i] * (i % 7 + 1);
  };
  for (int n : {most, 64, 33, 1, 0}) {
    int blocks = (n + 64) / 64;
    attract<<<blocks, 64>>>((float4 *)out, (const float4 *)in, n);
    take();
    push<<<blocks, 64>>>(out, in, 0.5f, n);
    take();
    for (int m : {67, 32, 1, 0}) {
      nearest<<<dim3(blocks, 3), 64>>>(out, in, more, n, m);
      features<<<blocks, 64>>>(out + 500, in, more, n, m, m == 32 ? 70 : 5);
      shade<<<dim3((n + 15) / 16, 5), dim3(16, 4)>>>(out, in, m, n, 19);
      take();
    }
    rowSums<<<blocks, 64>>>(out, in, n, n);
    chosen<<<blocks, 64>>>(out, in, 20, n, n);
    take();
  }
  printf("%.3f\n", sum);
}
