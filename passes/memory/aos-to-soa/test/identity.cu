// Vectors of the toolkit, pointers to numbers and structures by value are no arrays of structures.
// RUN: kb-opt -passes=aos-to-soa --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck --allow-empty --implicit-check-not=Function %s < %t.yaml
struct Limits {
  float low, high;
};
__global__ void lengths(const float4 *points, float *out) {
  int i = threadIdx.x;
  out[i] = points[i].x * points[i].y;
}
__global__ void clamp(float *x, Limits limits) {
  x[threadIdx.x] = fminf(fmaxf(x[threadIdx.x], limits.low), limits.high);
}
int main() {
  float *x;
  cudaMalloc(&x, 128);
  clamp<<<1, 32>>>(x, {0, 1});
}
