// RUN: kb-opt -passes=strength-reduce-divmod --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: none
// CHECK: String: the kernel has no division of integers by something else than a constant
__global__ void none(float *x, int n) { x[threadIdx.x % 16] = x[threadIdx.x] / n; }

// CHECK: Function: negative
// CHECK: String: '''threadIdx.x - 5'' is not known to be bounded and not negative'
__global__ void negative(int *x, int n) { x[threadIdx.x] = (int)(threadIdx.x - 5) / n; }

// CHECK: Function: element
// CHECK: String: '''x[threadIdx.x]'' is not known to be bounded and not negative'
__global__ void element(int *x, int n) { x[threadIdx.x] = x[threadIdx.x] % n; }

// CHECK: Function: byElement
// CHECK: String: 'the host cannot compute the divisor ''x[0]'''
__global__ void byElement(int *x) { x[threadIdx.x] = threadIdx.x / x[0]; }

// CHECK: Function: changes
// CHECK: String: 'the host cannot compute the divisor ''n'''
__global__ void changes(int *x, int n) {
  while (n-- > 1)
    x[threadIdx.x] += threadIdx.x / n;
}

// CHECK: Function: sums
// CHECK: String: '''at'' is not known to be bounded and not negative'
__global__ void sums(int *x, int n) {
  int at = 0;
  for (int k = 0; k < n; ++k) {
    at += k;
    x[threadIdx.x] += at / n;
  }
}

// CHECK: Function: isShort
// CHECK: String: '''small'' is not known to be bounded and not negative'
__global__ void isShort(int *x, int n) {
  short small = threadIdx.x * 1000;
  x[threadIdx.x] = small / n;
}

// CHECK: Function: tooLarge
// CHECK: String: an index reaches 4294967296, which needs more than 31 bits
__global__ void tooLarge(int *x, int n) { x[threadIdx.x] = (blockIdx.x * blockDim.x + threadIdx.x) / n; }

// CHECK: Function: inMacro
// CHECK: String: the division comes from a macro
#define ROW(i, n) ((i) / (n))
__global__ void inMacro(int *x, int n) { x[threadIdx.x] = ROW(threadIdx.x, n); }

// CHECK: Function: neverLaunched
// CHECK: String: no launch of the kernel is in sight
__global__ void neverLaunched(int *x, int n) { x[threadIdx.x] = threadIdx.x / n; }

// CHECK: Function: dependent
// CHECK: String: the kernel has no division of integers by something else than a constant
template <typename T> __global__ void dependent(T *x, T n) { x[threadIdx.x] = T(threadIdx.x) / n; }

// CHECK: Function: byApi
// CHECK: String: {{.*}}is made by cudaLaunchKernel
__global__ void byApi(int *x, int n) { x[threadIdx.x] = threadIdx.x / n; }

void run(int *x, float *y, int n) {
  none<<<1, 32>>>(y, n);
  negative<<<1, 32>>>(x, n);
  element<<<1, 32>>>(x, n);
  byElement<<<1, 32>>>(x);
  changes<<<1, 32>>>(x, n);
  sums<<<1, 32>>>(x, n);
  isShort<<<1, 32>>>(x, n);
  tooLarge<<<1 << 24, 256>>>(x, n);
  inMacro<<<1, 32>>>(x, n);
  dependent<<<1, 32>>>(x, n);
  void *arguments[] = {&x, &n};
  cudaLaunchKernel((const void *)byApi, dim3(1), dim3(32), arguments, 0, 0);
}
