// What the program has tested before the launch is not tested again, in whatever form it says so.
// RUN: kb-opt "-passes=schedule{as='map vector=4'}" --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
__global__ void shift(float *__restrict__ y, const float *__restrict__ x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + a;
}

// CHECK: void unknown(
// CHECK: if ({{.*}}blocks {{.*}}>= n
void unknown(float *y, const float *x, float a, int n, int blocks) {
  shift<<<blocks, 64>>>(y, x, a, n);
}

// CHECK: void other(
// CHECK-NEXT: if (0 <= blocks * 32 * 2 - n)
// CHECK-NEXT: if ((long long)64 * blocks <= 2147483648 && n > 0 &&
void other(float *y, const float *x, float a, int n, int blocks) {
  if (0 <= blocks * 32 * 2 - n)
    shift<<<blocks, 64>>>(y, x, a, n);
}

// What is less than what is needed is no proof.
// CHECK: void less(
// CHECK: if ({{.*}}blocks {{.*}}>= n
void less(float *y, const float *x, float a, int n, int blocks) {
  if (blocks * 64 + 1 >= n && blocks * 32 >= 2)
    shift<<<blocks, 64>>>(y, x, a, n);
}
