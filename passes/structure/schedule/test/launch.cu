// RUN: kb-opt "-passes=schedule" --quiet -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s

// A row may be longer than registers hold: a second kernel computes such rows.
// CHECK: static inline bool {{l}}ie_in_different_allocations(const void *a, const void *b) {
// CHECK-LABEL: void softmax(
// CHECK: void __launch_bounds__
// CHECK: softmax_{{r}}ows(float
// CHECK: softmax_{{r}}ows2(float *
// CHECK: softmax_{{r}}ows3(float *
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
// CHECK-SAME: if ({{.*}}c <= 1024 && c % 4 == 0
// CHECK: softmax_{{r}}ows<<<
// CHECK: else if ({{.*}}c <= 5120
// CHECK: softmax_{{r}}ows2<<<
// CHECK: else if (
// CHECK: softmax_{{r}}ows3<<<
// CHECK-NEXT: else
// CHECK-NEXT: softmax<<<(n + 63) / 64, 64>>>(out, in, n, c);
void runSoftmax(float *out, const float *in, int n, int c) { softmax<<<(n + 63) / 64, 64>>>(out, in, n, c); }

// How much of the table is read depends on data; what matters is that it is another allocation.
// CHECK: bool can_use_gather_{{w}}ide(
// CHECK: {{l}}ie_in_different_allocations(out, table)
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
using Function = void (*)(float *, const float *);
template <Function f> __global__ void apply(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    f(out + i, in + i);
}
// CHECK: __device__ void twice(float *out, const float *in);
// CHECK-LABEL: void runApply
// CHECK-NEXT: if ((const void *)apply<f> == (const void *)apply<twice> &&
// CHECK: apply_{{w}}ide<<<
// CHECK-NEXT: else
// CHECK-NEXT: apply<f><<<(n + 255) / 256, 256>>>(out, in, n);
template <Function f> void runApply(float *out, const float *in, int n) {
  apply<f><<<(n + 255) / 256, 256>>>(out, in, n);
}
__device__ void twice(float *out, const float *in) { *out = 2.0f * *in; }
__device__ void stamp(float *out, const float *in) { *out = *in + clock(); }
void runAll(float *out, const float *in, int n) {
  runApply<stamp>(out, in, n);
  runApply<twice>(out, in, n);
}

// The instances of one launch take different types: what the new kernel is passed has to compile for all of them.
// CHECK-LABEL: void halve(
// CHECK: void __launch_bounds__(256) halve_{{w}}ide(double *y, const double *x, double by, int n)
// CHECK: void __launch_bounds__(256) halve_{{w}}ide2(float *y, const float *x, float by, int n)
template <class T> __global__ void halve(T *y, const T *x, T by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] / by;
}
// CHECK-LABEL: void runHalve
// CHECK-SAME: if ((const void *)halve<T> == (const void *)halve<double> &&
// CHECK-NEXT: can_use_halve_{{w}}ide((double *)y, (const double *)x, n, 256, (n + 255) / 256))
// CHECK-NEXT: halve_{{w}}ide<<<(n + 511) / 512, 256>>>((double *)y, (const double *)x, (double)(by + by), n);
// CHECK-NEXT: else if ((const void *)halve<T> == (const void *)halve<float> &&
// CHECK-NEXT: can_use_halve_{{w}}ide2((float *)y, (const float *)x, n, 256, (n + 255) / 256))
// CHECK-NEXT: halve_{{w}}ide2<<<(n + 511) / 512, 256>>>((float *)y, (const float *)x, (float)(by + by), n);
// CHECK-NEXT: else
// CHECK-NEXT: halve<T><<<(n + 255) / 256, 256>>>(y, x, by + by, n);
template <class T> void runHalve(T *y, const T *x, T by, int n) { halve<T><<<(n + 255) / 256, 256>>>(y, x, by + by, n); }
void runHalves(float *y, const float *x, double *yy, const double *xx, int n) {
  runHalve<float>(y, x, 2.0f, n);
  runHalve<double>(yy, xx, 2.0, n);
}
