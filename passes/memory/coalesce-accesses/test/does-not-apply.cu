// RUN: kb-opt -passes=coalesce-accesses --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: consecutive
// CHECK: String: lanes touch consecutive elements already
__global__ void consecutive(const float *x, float *y, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  y[row * n + column] = x[row * n + column];
}

// Whichever way it is turned, one of the two is bad.
// CHECK: Function: transpose
// CHECK: !Missed
__global__ void transpose(const float *x, float *y, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  y[column * n + row] = x[row * n + column];
}

// CHECK: Function: oneDimension
// CHECK: String: the block has one dimension, so there are no roles to exchange
__global__ void oneDimension(const float *x, float *y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k)
    y[row * n + k] = x[row * n + k];
}

// CHECK: Function: unknownBlock
// CHECK: String: the shape of the block at line {{[0-9]+}} is not constant
__global__ void unknownBlock(const float *x, float *y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  y[row * n + column] = x[row * n + column];
}

// CHECK: Function: twoShapes
// CHECK: String: launches differ in the shape of their block
__global__ void twoShapes(const float *x, float *y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  y[row * n + column] = x[row * n + column];
}

// CHECK: Function: notLaunched
// CHECK: String: no launch of the kernel is in sight
__global__ void notLaunched(const float *x, float *y, int n) {
  y[threadIdx.x * n + threadIdx.y] = x[threadIdx.x * n + threadIdx.y];
}

// CHECK: Function: shuffles
// CHECK: String: the kernel exchanges data within warps
__global__ void shuffles(const float *x, float *y, int n) {
  float v = x[threadIdx.x * n + threadIdx.y];
  y[threadIdx.x * n + threadIdx.y] = __shfl_xor_sync(0xffffffffu, v, 1);
}

// CHECK: Function: atomics
// CHECK: String: 'the order of atomics on {{.*}} would change'
__global__ void atomics(const float *x, float *y, int n) {
  atomicAdd(&y[threadIdx.y], x[threadIdx.x * n + threadIdx.y]);
}

// CHECK: Function: wholeIndex
// CHECK: String: 'the kernel uses ''threadIdx'' as a whole'
__global__ void wholeIndex(const float *x, float *y, int n) {
  uint3 t = threadIdx;
  y[t.x * n + t.y] = x[t.x * n + t.y];
}

__device__ int myRow() { return threadIdx.x; }
// CHECK: Function: helperUsesIndex
// CHECK: String: 'thread indices are also used in ''myRow'''
__global__ void helperUsesIndex(const float *x, float *y, int n) {
  y[myRow() * n + threadIdx.y] = x[myRow() * n + threadIdx.y];
}

#define ROW threadIdx.x
// CHECK: Function: macroUsesIndex
// CHECK: String: a thread index comes from a macro
__global__ void macroUsesIndex(const float *x, float *y, int n) {
  y[ROW * n + threadIdx.y] = x[ROW * n + threadIdx.y];
}

// CHECK: Function: suppressed
// CHECK: String: suppressed by the NOKBOPT comment for line {{[0-9]+}}
__global__ void suppressed(const float *x, float *y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y; // NOKBOPT
  y[row * n + column] = x[row * n + column];
}

// Who launches it through the pointer, and with which shape, is not in sight.
// CHECK: Function: pointedTo
// CHECK: String: {{.*}}names ''pointedTo'' outside launches
__global__ void pointedTo(const float *x, float *y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  y[row * n + column] = x[row * n + column];
}
void (*later)(const float *, float *, int) = pointedTo;

// The host's instances differ: 16 x 16 in one, 32 x 8 in the other.
// CHECK: Function: twoHosts
// CHECK: String: {{.*}}is written once for several instances
__global__ void twoHosts(const float *x, float *y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  y[row * n + column] = x[row * n + column];
}
template <int Width, int Height> void launch(const float *x, float *y, int n) {
  twoHosts<<<dim3(n / Width, n / Height), dim3(Width, Height)>>>(x, y, n);
}

// Which thread wins a word is decided by the order of threads.
// CHECK: Function: isVolatile
// CHECK: String: {{.*}}is volatile
__global__ void isVolatile(const volatile float *x, float *y, int n) {
  y[threadIdx.x * n + threadIdx.y] = x[threadIdx.x * n + threadIdx.y];
}

#define BLOCK dim3(16, 8)
// CHECK: Function: macroIsBlock
// CHECK: String: 'the text at line {{[0-9]+}} cannot be changed: it comes from the macro ''BLOCK'''
__global__ void macroIsBlock(const float *x, float *y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  y[row * n + column] = x[row * n + column];
}

void run(const float *x, float *y, int n, int b) {
  dim3 block(16, 16), grid(n / 16, n / 16);
  consecutive<<<grid, block>>>(x, y, n);
  transpose<<<grid, block>>>(x, y, n);
  oneDimension<<<n / 256, 256>>>(x, y, n);
  unknownBlock<<<grid, dim3(b, b)>>>(x, y, n);
  twoShapes<<<grid, block>>>(x, y, n);
  twoShapes<<<grid, dim3(32, 8)>>>(x, y, n);
  shuffles<<<1, block>>>(x, y, n);
  atomics<<<1, block>>>(x, y, n);
  wholeIndex<<<1, block>>>(x, y, n);
  helperUsesIndex<<<1, block>>>(x, y, n);
  macroUsesIndex<<<1, block>>>(x, y, n);
  suppressed<<<1, block>>>(x, y, n);
  pointedTo<<<grid, block>>>(x, y, n);
  launch<16, 16>(x, y, n);
  launch<32, 8>(x, y, n);
  isVolatile<<<1, block>>>(x, y, n);
  macroIsBlock<<<dim3(n / 16, n / 8), BLOCK>>>(x, y, n);
}
