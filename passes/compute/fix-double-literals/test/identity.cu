// Doubles that are meant to be doubles stay, whatever surrounds them.
// RUN: kb-opt -passes=fix-double-literals --quiet -o %t %s
// RUN: diff %s %t
__global__ void daxpy(double a, const double *x, double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + 0.5 * y[i];
}
