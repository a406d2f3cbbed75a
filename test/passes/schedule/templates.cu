// A new kernel is that of one instance: the template's parameters stand for its arguments. Every instance that is launched has one.
// RUN: kb-opt "-passes=schedule{as='map vector=4'}" --remarks-file=%t.yaml --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// CHECK: __global__ void {{.*}}fill_{{w}}ide(float *{{.*}}y, float a, int n)
// CHECK: a * 128
// CHECK: __global__ void {{.*}}fill_{{w}}ide2(double *{{.*}}y, double a, int n)
// CHECK: a * 128
template <typename T, int scale> __global__ void fill(T *y, T a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * scale;
}

// CHECK-LABEL: void floats
// CHECK: fill_{{w}}ide<<<{{.*}}>>>(y, 1.0f, n);
// CHECK: else
// CHECK-NEXT: fill<float, 128><<<
void floats(float *y, int n) {
  fill<float, 128><<<(n + 255) / 256, 256>>>(y, 1.0f, n);
}

// A place that is several instances asks which it is.
// CHECK-LABEL: void doubles
// CHECK: fill_{{w}}ide2<<<{{.*}}>>>(y, 1.0, n);
// CHECK: else
// CHECK-NEXT: fill<double, 128><<<
void doubles(double *y, int n) {
  fill<double, 128><<<(n + 255) / 256, 256>>>(y, 1.0, n);
}

// CHECK-LABEL: void any
// CHECK-NEXT: if ((const void *)fill<T, 128> == (const void *)fill<float, 128> &&
// CHECK: fill_{{w}}ide<<<{{.*}}>>>((float *)y, (float)T(1), n);
// CHECK-NEXT: else if ((const void *)fill<T, 128> == (const void *)fill<double, 128> &&
// CHECK: fill_{{w}}ide2<<<{{.*}}>>>((double *)y, (double)T(1), n);
// CHECK-NEXT: else
// CHECK-NEXT: fill<T, 128><<<
template <typename T> void any(T *y, int n) {
  fill<T, 128><<<(n + 255) / 256, 256>>>(y, T(1), n);
}
template void any<float>(float *, int);
template void any<double>(double *, int);
