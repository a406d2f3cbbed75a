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

__global__ void fromTemplate(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}
__global__ void ofTwoHosts(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

#define THREADS 128

// Remarks come kernel by kernel, in the order of the launches.
// CHECK: Function: plain
// CHECK: String: the launch has 512 threads per block already
// CHECK: Function: plain
// CHECK: String: the block size comes from a macro
// CHECK: Function: plain
// CHECK: String: 'the block size ''size'' is not a constant'
// CHECK: Function: plain
// CHECK: String: {{.*}}is also used in line
// CHECK: Function: plain
// CHECK: String: the block has more than one dimension
// CHECK: Function: plain
// CHECK: String: {{.*}}is not a count divided by the block size and rounded up
// CHECK: Function: plain
// CHECK: String: {{.*}}is computed from another count than
// CHECK: Function: usesShared
// CHECK: !Missed
// CHECK: Function: perBlock
// CHECK: !Missed
// CHECK: Function: bounded
// CHECK: String: __launch_bounds__ allows fewer threads
// CHECK: Function: unguarded
// CHECK: String: {{.*}}does not end in a body guarded by
// CHECK: Function: fromTemplate
// CHECK: String: 'the block size ''Size'' is no literal'
// CHECK: Function: ofTwoHosts
// CHECK: String: {{.*}}
template <int Size> void launch(float *x, int n) {
  fromTemplate<<<(n + Size - 1) / Size, Size>>>(x, n);
}
template <int Size> void launchBoth(float *x, int n) {
  ofTwoHosts<<<(n + 127) / 128, Size>>>(x, n);
}
void run(float *x, int n, int size, int *used) {
  launch<128>(x, n);
  launchBoth<128>(x, n);
  launchBoth<256>(x, n);

  plain<<<(n + 511) / 512, 512>>>(x, n);
  plain<<<(n + THREADS - 1) / THREADS, THREADS>>>(x, n);
  plain<<<(n + size - 1) / size, size>>>(x, n);
  int threads = 128;
  *used = threads;
  plain<<<(n + threads - 1) / threads, threads>>>(x, n);
  plain<<<dim3((n + 63) / 64, 1), dim3(64, 2)>>>(x, n);
  plain<<<n / 128, 128>>>(x, n);
  plain<<<(size + 127) / 128, 128>>>(x, n);
  usesShared<<<n / 256, 256>>>(x);
  perBlock<<<n / 256, 256>>>(x);
  bounded<<<(n + 255) / 256, 256>>>(x, n);
  unguarded<<<(n + 255) / 256, 256>>>(x);
}
