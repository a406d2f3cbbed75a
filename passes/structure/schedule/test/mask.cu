// Where points without a sum only store another value in its place, outputs are stored as vectors; where the mask leaves a
// gap or stands in another array, one by one.
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=64 bk=16 tm=4 tn=4 stages=2 vector=4'}" --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s %}
// REQUIRES: sandbox
// JUDGE: {{^}}correct
#include <cmath>
#include <cstdio>
#include <vector>

// CHECK-LABEL: {{^ +scores_tiled.*const float}}
// CHECK: const int t2First =
// CHECK: alignas(16) float out[4];
// CHECK: if (t2 > t) {
// CHECK-NEXT: out[q] = -INFINITY;
// CHECK-NEXT: continue;
// CHECK: out[q] = val;
// CHECK: *reinterpret_cast<float4 *>(&S[t2First
__global__ void scores(float *S, const float *Q, const float *K, int T, int D) {
  int t2 = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y * blockDim.y + threadIdx.y;
  if (t >= T || t2 >= T)
    return;
  if (t2 > t) {
    S[t * T + t2] = -INFINITY;
    return;
  }
  float val = 0;
  for (int d = 0; d < D; ++d)
    val += Q[t * D + d] * K[t2 * D + d];
  val *= 0.125f;
  S[t * T + t2] = val;
}

// CHECK-LABEL: {{^ +gap_tiled.*const float}}
// CHECK-NOT: alignas(16) float out
__global__ void gap(float *S, const float *Q, const float *K, int T, int D) {
  int t2 = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y * blockDim.y + threadIdx.y;
  if (t >= T || t2 >= T)
    return;
  if (t2 > t + 1)
    S[t * T + t2] = -1;
  if (t2 <= t) {
    float val = 0;
    for (int d = 0; d < D; ++d)
      val += Q[t * D + d] * K[t2 * D + d];
    S[t * T + t2] = val;
  }
}

// CHECK-LABEL: {{^ +elsewhere_tiled.*const float}}
// CHECK-NOT: alignas(16) float out
// CHECK-LABEL: int main()
// CHECK: T % 4 == 0 && T > 0)
__global__ void elsewhere(float *S, float *M, const float *Q, const float *K, int T, int D) {
  int t2 = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y * blockDim.y + threadIdx.y;
  if (t >= T || t2 >= T)
    return;
  if (t2 > t) {
    M[t * T + t2] = 1;
    return;
  }
  float val = 0;
  for (int d = 0; d < D; ++d)
    val += Q[t * D + d] * K[t2 * D + d];
  S[t * T + t2] = val;
}

int main() {
  int sizes[][2] = {{68, 24}, {70, 16}, {4, 4}, {1, 1}};
  for (auto &[T, D] : sizes) {
    std::vector<float> q(T * D), k(T * D), result(4 * T * T);
    for (int i = 0; i < T * D; ++i)
      q[i] = float(i * 7919 % 1000) / 500 - 1, k[i] = float(i * 104729 % 1000) / 500 - 1;
    float *Q, *K, *S;
    cudaMalloc(&Q, T * D * 4);
    cudaMalloc(&K, T * D * 4);
    cudaMalloc(&S, 4 * T * T * 4);
    cudaMemcpy(Q, q.data(), T * D * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(K, k.data(), T * D * 4, cudaMemcpyHostToDevice);
    cudaMemset(S, 0, 4 * T * T * 4);
    dim3 block(16, 16), grid((T + 15) / 16, (T + 15) / 16);
    scores<<<grid, block>>>(S, Q, K, T, D);
    gap<<<grid, block>>>(S + T * T, Q, K, T, D);
    elsewhere<<<grid, block>>>(S + 2 * T * T, S + 3 * T * T, Q, K, T, D);
    cudaMemcpy(result.data(), S, 4 * T * T * 4, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (float x : result)
      sum += std::isinf(x) ? -3 : x;
    printf("%g\n", sum);
    cudaFree(Q), cudaFree(K), cudaFree(S);
  }
}
