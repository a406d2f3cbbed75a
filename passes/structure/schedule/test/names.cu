// The program has a function of the name that the first of three new kernels would have: each gets another one.
// RUN: kb-opt -passes=schedule -o %t.cu %s 2>&1 | FileCheck %s
// CHECK: added 'normalize_{{r}}ows2', 'normalize_{{r}}ows3', 'normalize_{{r}}ows4'
int normalize_rows(int n) { return n / 2; }

__global__ void normalize(float *y, const float *x, int n, int m) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n) {
    float sum = 0.0f;
    for (int k = 0; k < m; ++k)
      sum += x[row * m + k];
    for (int k = 0; k < m; ++k)
      y[row * m + k] = x[row * m + k] / sum;
  }
}

void run(float *y, const float *x, int n, int m) { normalize<<<(n + 63) / 64, 64>>>(y, x, normalize_rows(n), m); }
