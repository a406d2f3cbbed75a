// Arguments of floating-point type are left alone, and so are launches that pass no constant.
// RUN: kb-opt -passes=specialize-constants --quiet -o %t %s
// RUN: diff %s %t
__global__ void scale(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = i; k < n; k += 32)
    x[k] *= a;
}
void run(float *x, int n) { scale<<<1, 32>>>(x, 2.0f, n); }
