// Divisions by constants, and of numbers with fractions, are left alone.
// RUN: kb-opt -passes=strength-reduce-divmod --quiet -o %t %s
// RUN: diff %s %t
__global__ void rows(float *x, float a, int n) {
  const int width = 32;
  int height = 7;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i / width * width + i % 32] = x[i / height] / a;
}
void run(float *x, int n) { rows<<<(n + 255) / 256, 256>>>(x, 2.0f, n); }
