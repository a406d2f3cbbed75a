// RUN: kb-opt -passes=coalesce-accesses --quiet -o %t %s
// RUN: diff %s %t
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

void run(float *x, int n) { scale<<<(n + 255) / 256, 256>>>(x, n); }
