// RUN: kb-opt -passes='launch-bounds{blocks=3}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: kb-opt -passes='launch-bounds{blocks=0}' --quiet -o - %s | grep -v '^ *//' | FileCheck %s --check-prefix=OPEN

constexpr int kThreads = 128;

// The size of the block stands in a variable of the host.
// CHECK: __global__ void __launch_bounds__(256, 3) fromVariable(
// OPEN: __global__ void __launch_bounds__(256) fromVariable(
// REMARK: Function: fromVariable
// REMARK: String: {{.*}}bounded to 256 threads per block, 3 blocks per SM
__global__ void fromVariable(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

// All dimensions of the block count, and the larger of two launches.
// CHECK: __global__ void __launch_bounds__(512, 3) plane(
__global__ void plane(float *x, int n) { x[threadIdx.y * n + threadIdx.x] *= 2.0f; }

// A named constant keeps its name, also in a template that several types share.
// CHECK: template <typename T>
// CHECK-NEXT: __global__ void __launch_bounds__(kThreads, 3) typed(
template <typename T>
__global__ void typed(T *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2;
}

// The name means something else in this kernel's header.
// CHECK: template <int kThreads>
// CHECK-NEXT: __global__ void __launch_bounds__(128, 3) hidden(
template <int kThreads>
__global__ void hidden(float *x) { x[threadIdx.x] *= kThreads; }

// A remainder is smaller than its divisor, and std::min no larger than either.
// CHECK: __global__ void __launch_bounds__(64, 3) rest(
__global__ void rest(float *x) { x[threadIdx.x] *= 2.0f; }

template <typename T> void launchTyped(T *x, int n) {
  typed<T><<<(n + kThreads - 1) / kThreads, kThreads>>>(x, n);
}

void run(float *x, double *y, int n) {
  int threads = 256;
  dim3 block(threads);
  dim3 grid((n + threads - 1) / threads);
  fromVariable<<<grid, block>>>(x, n);
  plane<<<1, dim3(32, 4)>>>(x, n);
  plane<<<1, dim3(32, 16)>>>(x, n);
  launchTyped(x, n);
  launchTyped(y, n);
  hidden<3><<<1, kThreads>>>(x);
  rest<<<1, n % 64>>>(x);
  rest<<<1, n > 40 ? 64 : 32>>>(x);
}
