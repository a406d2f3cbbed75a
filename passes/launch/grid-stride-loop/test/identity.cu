// A kernel that has its loop already is left alone.
// RUN: kb-opt -passes=grid-stride-loop --quiet -o %t %s
// RUN: diff %s %t
__global__ void scale(float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] *= 2.0f;
}
void run(float *x, int n) { scale<<<(n + 255) / 256, 256>>>(x, n); }
