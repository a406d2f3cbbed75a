// Data of 64 bits is no index.
// RUN: kb-opt -passes=narrow-index-type --quiet -o %t %s
// RUN: diff %s %t
__global__ void sum(const long long *x, long long *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  long long total = x[i];
  for (int k = 0; k < n; ++k)
    total += x[k] * 3;
  y[i] = total;
}
void run(const long long *x, long long *y, int n) { sum<<<(n + 255) / 256, 256>>>(x, y, n); }
