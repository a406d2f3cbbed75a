// RUN: kb-opt "-passes=schedule" --quiet -o %t %s
// RUN: FileCheck %s < %t

// A row may be longer than registers hold: a second kernel computes such rows.
// CHECK-LABEL: void softmax(
// CHECK: void __launch_bounds__({{[0-9]+}}) softmaxRows(
// CHECK: void __launch_bounds__({{[0-9]+}}) softmaxRows2(
// CHECK: void __launch_bounds__({{[0-9]+}}) softmaxRows3(
__global__ void softmax(float *out, const float *in, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float most = -INFINITY, sum = 0.0f;
    for (int j = 0; j < c; ++j)
      most = fmaxf(most, in[i * c + j]);
    for (int j = 0; j < c; ++j)
      sum += expf(in[i * c + j] - most);
    for (int j = 0; j < c; ++j)
      out[i * c + j] = expf(in[i * c + j] - most) / sum;
  }
}
// CHECK-LABEL: void runSoftmax
// CHECK-NEXT: if (can_use_softmaxRows(
// CHECK-NEXT: softmaxRows<<<
// CHECK-NEXT: else if (can_use_softmaxRows2(
// CHECK-NEXT: softmaxRows2<<<
// CHECK-NEXT: else if (can_use_softmaxRows3(
// CHECK-NEXT: softmaxRows3<<<
// CHECK-NEXT: else
// CHECK-NEXT: softmax<<<(n + 63) / 64, 64>>>(out, in, n, c);
void runSoftmax(float *out, const float *in, int n, int c) { softmax<<<(n + 63) / 64, 64>>>(out, in, n, c); }

// How much of the table is read depends on data; what matters is that it is another allocation.
// CHECK: static inline bool lie_in_different_allocations(const void *a, const void *b) {
// CHECK: bool can_use_gatherWide(
// CHECK: lie_in_different_allocations(out, table)
__global__ void gather(float *out, const float *table, const int *rows, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int row = rows[i];
    for (int j = 0; j < c; ++j)
      out[i * c + j] = 2.0f * table[row * c + j];
  }
}
void runGather(float *out, const float *table, const int *rows, int n, int c) {
  gather<<<(n + 63) / 64, 64>>>(out, table, rows, n, c);
}

// One launch has several instances, of which one is raised.
using Function = float (*)(float);
__device__ float twice(float x) { return 2.0f * x; }
__device__ float untilSmall(float x) {
  while (x > 1.0f)
    x *= 0.5f;
  return x;
}
template <Function f> __global__ void apply(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float x = in[i];
    if (f == untilSmall)
      while (x > 1.0f)
        x *= 0.5f;
    out[i] = f(x);
  }
}
// CHECK-LABEL: void runApply
// CHECK-NEXT: if ((const void *)apply<f> == (const void *)apply<twice> && {{.*}})
// CHECK-NEXT: apply{{_?[wW]}}ide<<<
template <Function f> void runApply(float *out, const float *in, int n) { apply<f><<<(n + 255) / 256, 256>>>(out, in, n); }
void runAll(float *out, const float *in, int n) {
  runApply<untilSmall>(out, in, n);
  runApply<twice>(out, in, n);
}
