// One guard per thread, guards on data, and kernels that exchange through shared memory stay.
// RUN: kb-opt -passes=version-bounds-checks --quiet -o %t %s
// RUN: diff %s %t
__global__ void single(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 2 * x[i];
}

__global__ void data(const int *from, const float *x, float *y, int n) {
  float sum = 0;
  for (int k = 0; k < 8; ++k) {
    int j = from[8 * threadIdx.x + k];
    if (j >= 0 && j < n)
      sum += x[j];
  }
  y[threadIdx.x] = sum;
}
