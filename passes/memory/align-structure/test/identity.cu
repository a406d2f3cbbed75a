// Vectors of the toolkit are aligned, and pointers to numbers have no fields.
// RUN: kb-opt -passes=align-structure --quiet -o %t %s
// RUN: diff %s %t
__global__ void lengths(const float4 *points, float *out) {
  int i = threadIdx.x;
  out[i] = points[i].x * points[i].x + points[i].y * points[i].y;
}
__global__ void scale(float *x) { x[threadIdx.x] *= 2; }
int main() { scale<<<1, 32>>>(nullptr); }
