// Products of floats stay where they are: moving one could break up a fused multiply-add.
// RUN: kb-opt -passes=hoist-loop-invariant --quiet -o %t %s
// RUN: diff %s %t
__global__ void axpy(const float *__restrict__ x, float *__restrict__ y, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k)
    y[i * n + k] += a * b + x[i * n + k];
}
