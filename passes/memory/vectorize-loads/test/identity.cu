// Code that loads vectors already stays as it is.
// RUN: kb-opt -passes=vectorize-loads --quiet -o %t %s
// RUN: diff %s %t
__global__ void scale(const float4 *__restrict__ x, float4 *__restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 v = x[i];
    v.x *= 2;
    y[i] = v;
  }
}
