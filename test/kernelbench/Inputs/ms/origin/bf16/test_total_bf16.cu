#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <math.h>
#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

// ==== OPTIMIZED KERNEL START ====
extern "C" void total_bf16_optimized(float *, const __nv_bfloat16 *, int) {}
// ==== OPTIMIZED KERNEL END ====

__global__ void addUp(float *sum, const __nv_bfloat16 *x, int n) {
  float own = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    own += __bfloat162float(x[i]);
  atomicAdd(sum, own);
}

extern "C" void total_bf16_origin(float *sum, const __nv_bfloat16 *x, int n) {
  addUp<<<1, 64>>>(sum, x, n);
  cudaDeviceSynchronize();
}

typedef struct {
  int n;
  __nv_bfloat16 *x;
  float *weights;
} TestCase;

void makeCases(std::vector<TestCase>& cases) {
  std::mt19937 random(7);
  for (int i = 0; i < 2; i++) {
    TestCase one;
    one.n = 100 << i;
    one.x = new __nv_bfloat16[one.n];
    for (int k = 0; k < one.n; k++) {
      one.x[k] = __float2bfloat16(0.25f + random() % 4);
    }
    one.weights = new float[2 * one.n];
    cases.push_back(one);
  }
}

void showSize(const TestCase &one) {
  long work = one.n;
  printf("Test case size: n: %d. Complexity: %ld\n", one.n, work);
}

template<typename Function>
float timeOf(Function function, int times) {
  for (int i = 0; i < times; i++)
    function();
  return times;
}

int main() {
  std::vector<TestCase> cases;
  makeCases(cases);
  for (const TestCase &one : cases) {
    float sum, sum_optimized;
    __nv_bfloat16 *d_x;
    float *d_sum, *d_sum_optimized;
    cudaMalloc(&d_x, 2 * one.n);
    cudaMalloc(&d_sum, sizeof(float));
    cudaMalloc(&d_sum_optimized, sizeof(float));
    cudaMemcpy(d_x, one.x, 2 * one.n, cudaMemcpyHostToDevice);
    auto given = [&]() {
      cudaMemset(d_sum, 0, sizeof(float));
      total_bf16_origin(d_sum, d_x, one.n);
    };
    auto rewritten = [&]() {
      cudaMemset(d_sum_optimized, 0, sizeof(float));
      total_bf16_optimized(d_sum_optimized, d_x, one.n);
    };
    float givenTime = timeOf(given, 50);
    float rewrittenTime = timeOf(rewritten, 50);
    cudaMemcpy(&sum, d_sum, sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(&sum_optimized, d_sum_optimized, sizeof(float), cudaMemcpyDeviceToHost);
    showSize(one);
    if (fabs(sum - sum_optimized) > 1e-3f) {
      printf("Output mismatch: given %.6f, rewritten %.6f\n", sum, sum_optimized);
      return 1;
    }
    printf("Speedup ratio: %.2f\n", givenTime / rewrittenTime);
    cudaFree(d_x);
    cudaFree(d_sum);
    cudaFree(d_sum_optimized);
    delete [] one.x;
    delete [] one.weights;
  }
  return 0;
}
