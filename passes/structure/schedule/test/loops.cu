// Triangles and cycles that one thread walks through are shared out, at sizes that no tile divides and at size 1.
// RUN: kb-opt "-passes=schedule" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// What a macro called 'N' would break stands before it.
// CHECK: #include <cuda_pipeline_primitives.h>
// CHECK-NEXT: #include <cstdio>
#include <cstdio>
#include <vector>

#define N 96

// CHECK: {{s}}imilarity_tiled(
// CHECK: if (j == 0)
// CHECK-NEXT: s[(size_t)i * 97] = 1.0f;
// CHECK-NEXT: if (i <= j) {
__global__ void similarity(float *s, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1) {
    s[i * N + i] = 1.0f;
    for (int j = i + 1; j < n; j++) {
      s[i * N + j] = 0.0f;
      for (int k = 0; k < m; k++)
        s[i * N + j] += x[k * N + i] * x[k * N + j];
      s[j * N + i] = s[i * N + j];
    }
  }
}

// CHECK: {{r}}otate_wide(
// CHECK: const int ring = blockIdx.y * rows + threadIdx.y;
__global__ void rotate(float *a, int n) {
  int ring = blockIdx.x * blockDim.x + threadIdx.x;
  if (ring < n / 2) {
    int last = n - 1 - ring;
    for (int i = ring; i < last; ++i) {
      int from = n - 1 - i;
      float kept = a[ring * n + i];
      a[ring * n + i] = a[from * n + ring];
      a[from * n + ring] = a[last * n + from];
      a[last * n + from] = a[i * n + last];
      a[i * n + last] = kept;
    }
  }
}

int main() {
  std::vector<float> host(N * N);
  for (int i = 0; i < N * N; ++i)
    host[i] = i % 23 - 11;
  float *x, *s;
  cudaMalloc(&x, N * N * sizeof(float));
  cudaMalloc(&s, N * N * sizeof(float));
  cudaMemcpy(x, host.data(), N * N * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(s, 0, N * N * sizeof(float));
  for (int n : {96, 67, 2, 1}) {
    similarity<<<(n + 255) / 256, 256>>>(s, x, n, n);
    rotate<<<(n + 255) / 256, 256>>>(x, n);
  }
  cudaMemcpy(host.data(), s, N * N * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (int i = 0; i < N * N; ++i)
    sum += host[i] * (i % 7);
  cudaMemcpy(host.data(), x, N * N * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < N * N; ++i)
    sum += host[i] * (i % 5);
  printf("%.3f\n", sum);
}
