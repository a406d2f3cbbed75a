// RUN: kb-opt -passes='tune-block-size{size=512}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// RUN: kb-opt -passes='tune-block-size{size=100}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s --check-prefix=ODD < %t.yaml
// CHECK-NOT: !Passed
// ODD: String: size 100 is not a multiple of a warp

__global__ void plain(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

__global__ void usesShared(float *x) {
  __shared__ float line[256];
  line[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  x[blockIdx.x * blockDim.x + threadIdx.x] = line[255 - threadIdx.x];
}

__global__ void perBlock(float *x) { x[blockIdx.x * 256 + threadIdx.x] *= 2.0f; }

__global__ void __launch_bounds__(256) bounded(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

__global__ void unguarded(float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] *= 2.0f;
}

__global__ void ofTwoHosts(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

// Remarks come kernel by kernel, in the order of the launches.
// CHECK: Function: plain
// CHECK: String: the launch has 512 threads per block already
// CHECK: Function: plain
// CHECK: String: the block has more than one dimension, and blocks of 128 threads cannot be made blocks of 512
// CHECK: Function: plain
// CHECK: String: {{.*}}is not a count divided by the block size and rounded up, and a grid of 10 blocks is no multiple of 4
// CHECK: Function: plain
// CHECK: String: {{.*}}is computed for another block size, and blocks of 96 threads cannot be made blocks of 512
// CHECK: Function: usesShared
// CHECK: !Missed
// CHECK: Function: perBlock
// CHECK: !Missed
// CHECK: Function: bounded
// CHECK: String: __launch_bounds__ allows fewer threads
// CHECK: Function: unguarded
// CHECK: String: {{.*}}does not end in a body guarded by
// CHECK: Function: ofTwoHosts
// CHECK: String: the launch at line {{[0-9]+}} is written once for several instances
// CHECK: Function: inMacro
// CHECK: String: the launch at line {{[0-9]+}} stands in a macro
__global__ void inMacro(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}
#define LAUNCH(x, n, size) inMacro<<<(n + size - 1) / size, size>>>(x, n)
template <int Size> void launchBoth(float *x, int n) {
  ofTwoHosts<<<(n + 127) / 128, Size>>>(x, n);
}
void run(float *x, int n, int size) {
  launchBoth<128>(x, n);
  launchBoth<256>(x, n);

  plain<<<(n + 511) / 512, 512>>>(x, n);
  plain<<<dim3((n + 63) / 64, 1), dim3(64, 2)>>>(x, n);
  plain<<<10, 128>>>(x, n);
  plain<<<(size + 127) / 128, 96>>>(x, n);
  usesShared<<<n / 256, 256>>>(x);
  perBlock<<<n / 256, 256>>>(x);
  bounded<<<(n + 255) / 256, 256>>>(x, n);
  unguarded<<<3, 256>>>(x);
  LAUNCH(x, n, size);
}
