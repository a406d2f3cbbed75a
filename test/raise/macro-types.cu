// A template parameter that only a macro's body names: the expression is printed in full, so that another kernel can put the type there.
// RUN: kb-opt --quiet -passes='schedule{kernel=scaled as="map block=64"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// CHECK: scaled_{{.*}}(float
// CHECK: static_cast<double>(x
#define WIDE(value) static_cast<Accumulator>(value)
template <class T, class Accumulator> __global__ void scaled(T *y, const T *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    Accumulator sum = WIDE(x[i]) * WIDE(x[i]);
    y[i] = sum;
  }
}
void run(float *y, const float *x, int n) { scaled<float, double><<<(n + 255) / 256, 256>>>(y, x, n); }
