#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cub/cub.cuh>
#include <math.h>
#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

bool isNear(__nv_bfloat16 a, __nv_bfloat16 b) { return fabs(__bfloat162float(a) - __bfloat162float(b)) < 0.01f; }

// ==== OPTIMIZED KERNEL START ====
extern "C" void scale_bf16_optimized(__nv_bfloat16 *, const __nv_bfloat16 *, float, int, int) {}
// ==== OPTIMIZED KERNEL END ====

__global__ void scaleKernel(__nv_bfloat16 *y, const __nv_bfloat16 *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = __float2bfloat16(a * __bfloat162float(x[i]));
}

int bytesOf(int items) {
  return items * sizeof(__nv_bfloat16);
}

extern "C" void scale_bf16_origin(__nv_bfloat16 *y, const __nv_bfloat16 *x, float a, int rows, int columns) {
  int n = rows * columns;
  scaleKernel<<<(n + 127) / 128, 128>>>(y, x, a, n);
  cudaDeviceSynchronize();
}

// One size
typedef struct {
  int rows;
  int columns;
  __nv_bfloat16 *x;
} TestCase;

void makeCases(std::vector<TestCase>& cases) {
  std::vector<int> rows = {64, 5, 3};
  std::vector<int> columns = {32, 7};
  for (int i = 0; i < rows.size(); i++)
    for (int j = 0; j < columns.size(); j++) {
      TestCase one;
      one.rows = rows[i];
      one.columns = columns[j];
      std::mt19937 random(std::random_device{}());
      std::uniform_real_distribution<float> values(-1.0f, 1.0f);
      int items = one.rows * one.columns;
      one.x = new __nv_bfloat16[items];
      for (int k = 0; k < items; k++)
        one.x[k] = __float2bfloat16(values(random));
      cases.push_back(one);
    }
}

void showSize(TestCase one) {
  printf("Test case size: rows: %d, columns: %d. Complexity: %d\n", one.rows, one.columns, one.rows * one.columns);
}

template<typename Function>
float timeOf(Function function, int times) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start);
  for (int i = 0; i < times; i++)
    function();
  cudaEventRecord(stop);
  cudaEventSynchronize(stop);
  float result;
  cudaEventElapsedTime(&result, start, stop);
  return result;
}

void check(cudaError_t error, const char *what) {
  if (error != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
  }
}

int main() {
  std::vector<TestCase> cases;
  makeCases(cases);
  for (const auto& one : cases) {
    const int items = one.rows * one.columns;
    __nv_bfloat16 *h_y = (__nv_bfloat16 *)malloc(bytesOf(items));
    __nv_bfloat16 *h_y_optimized = (__nv_bfloat16 *)malloc(bytesOf(items));
    __nv_bfloat16 *d_x, *d_y, *d_y_optimized;
    check(cudaMalloc((void **)&d_x, bytesOf(items)), "allocating d_x");
    check(cudaMalloc((void **)&d_y, bytesOf(items)), "allocating d_y");
    check(cudaMalloc((void **)&d_y_optimized, bytesOf(items)), "allocating d_y_optimized");
    check(cudaMemcpy(d_x, one.x, bytesOf(items), cudaMemcpyHostToDevice), "copying x");

    auto given = [&]() {
      scale_bf16_origin(d_y, d_x, 0.5f, one.rows, one.columns);
      check(cudaGetLastError(), "given");
    };
    auto rewritten = [&]() {
      scale_bf16_optimized(d_y_optimized, d_x, 0.5f, one.rows, one.columns);
      check(cudaGetLastError(), "rewritten");
    };
    float givenTime = timeOf(given, 50);
    float rewrittenTime = timeOf(rewritten, 50);

    check(cudaMemcpy(h_y, d_y, bytesOf(items), cudaMemcpyDeviceToHost), "copying y");
    check(cudaMemcpy(h_y_optimized, d_y_optimized, bytesOf(items), cudaMemcpyDeviceToHost), "copying y");
    showSize(one);
    for (int i = 0; i < items; i++) {
      if (!isNear(h_y[i], h_y_optimized[i])) {
        printf("Output mismatch at index %d\n", i);
        return 1;
      }
    }
    printf("Speedup ratio: %.2f\n", givenTime / rewrittenTime);

    cudaFree(d_x);
    cudaFree(d_y);
    cudaFree(d_y_optimized);
    free(h_y);
    free(h_y_optimized);
    delete [] one.x;
  }
  return 0;
}
