// RUN: kb-opt -passes=narrow-index-type --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: isNarrow
// CHECK: String: the kernel has no index of 64 bits that is known to be bounded and not negative
__global__ void isNarrow(float *x, int n) { x[threadIdx.x * n] = 0; }

// The element is signed: compared with a size it counts as a large number where it is negative.
// CHECK: Function: element
// CHECK: String: '''x[i]'' is not known to be bounded and not negative'
__global__ void element(const int *x, float *y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i > x[i])
    y[i] = 1;
}

// Below zero the original wraps to a large number.
// CHECK: Function: wraps
// CHECK: String: '''i - 5'' is not known to be bounded and not negative'
__global__ void wraps(float *y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i - 5 < n)
    y[i] = 1;
}

// CHECK: Function: negated
// CHECK: String: '''-i'' would be computed in another type'
__global__ void negated(float *y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[-i] = 1;
}

// CHECK: Function: overloaded
// CHECK: String: '''i'' is passed to a function that may depend on its type'
__global__ void overloaded(float *y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  y[min(i, n)] = 1;
}

// CHECK: Function: printed
// CHECK: String: '''i'' is passed to a function that may depend on its type'
extern "C" __device__ int printf(const char *, ...);
__global__ void printed(size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    printf("%zu\n", i);
}

// Its type would follow.
// CHECK: Function: deduced
// CHECK: String: '''i * n'' decides the type of a variable'
__global__ void deduced(long long *y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  auto square = i * n;
  if (i < n)
    y[i] = square;
}

// What the elements become decides the type of the sum.
// CHECK: Function: dependent
// CHECK: String: {{.*}} depends on the template''s parameters'
template <typename T> __global__ void dependent(T *y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = y[i] / n;
}

// CHECK: Function: opposite
// CHECK: String: {{.*}} would be computed with another sign'
__global__ void opposite(const long *x, long *y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] < n)
    y[i] = 1;
}

// CHECK: Function: tooLarge
// CHECK: String: an index reaches 4294967296, which needs more than 31 bits
__global__ void tooLarge(float *y) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 1;
}

// CHECK: Function: inMacro
// CHECK: String: {{.*}}stands in a macro or in another file
__global__ void inMacro(float *y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 1;
}
#define LAUNCH(y, n) inMacro<<<(n + 63) / 64, 64>>>(y, n)

// CHECK: Function: neverLaunched
// CHECK: String: no launch of the kernel is in sight
__global__ void neverLaunched(float *y, size_t n) { y[threadIdx.x * n] = 1; }

void run(int *x, float *y, long *l, long long *ll, size_t n) {
  isNarrow<<<1, 32>>>(y, 4);
  element<<<(n + 255) / 256, 256>>>(x, y, n);
  wraps<<<(n + 255) / 256, 256>>>(y, n);
  negated<<<(n + 255) / 256, 256>>>(y, n);
  overloaded<<<(n + 255) / 256, 256>>>(y, n);
  printed<<<(n + 255) / 256, 256>>>(n);
  deduced<<<(n + 255) / 256, 256>>>(ll, n);
  dependent<<<(n + 255) / 256, 256>>>(y, n);
  opposite<<<(n + 255) / 256, 256>>>(l, l + n, n);
  tooLarge<<<1 << 24, 256>>>(y);
  LAUNCH(y, n);
}
