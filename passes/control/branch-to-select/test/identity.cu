// Guards, selects, and branches that all threads of a block take alike stay.
// RUN: kb-opt -passes=branch-to-select --quiet -o %t %s
// RUN: diff %s %t
__global__ void guards(const float *x, float *y, int n, bool negative) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sign = 1;
  if (negative)
    sign = -1;
  for (int k = 0; k < n; ++k)
    if (k % 3 == 0)
      y[i] = x[i] > 0 ? sign * x[i] : x[k];
}
