// RUN: kb-opt -passes='pad-shared-array{pad=32}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: noConflict
// CHECK: String: 'no access to ''tile'' conflicts'
__global__ void noConflict(const float *x, float *y) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  y[threadIdx.y * 32 + threadIdx.x] = tile[31 - threadIdx.y][threadIdx.x];
}

// CHECK: Function: oneDimension
// CHECK: String: '''line'' has fewer than two dimensions'
__global__ void oneDimension(const float *x, float *y) {
  __shared__ float line[1024];
  line[threadIdx.x * 32] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = line[threadIdx.x * 32];
}

// CHECK: Function: sizedByLaunch
// CHECK: String: '''buffer'' gets its size from the launch'
__global__ void sizedByLaunch(const float *x, float *y) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x * 32] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = buffer[threadIdx.x * 32];
}

// CHECK: Function: asPointer
// CHECK: String: '''tile'' is also used as a pointer, so its layout may matter'
__global__ void asPointer(const float *x, float *y) {
  __shared__ float tile[32][32];
  float *flat = &tile[0][0];
  flat[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x][0];
}

// CHECK: Function: wholeRow
// CHECK: String: '''tile'' is also used as a pointer, so its layout may matter'
__device__ float first(const float *row) { return row[0]; }
__global__ void wholeRow(const float *x, float *y) {
  __shared__ float tile[32][32];
  tile[threadIdx.x][0] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = first(tile[threadIdx.x]);
}

// CHECK: Function: measured
// CHECK: String: '''tile'' is also used as a pointer, so its layout may matter'
__global__ void measured(const float *x, float *y) {
  __shared__ float tile[32][32];
  tile[threadIdx.x][0] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x][0] * sizeof(tile);
}

// CHECK: Function: tooLarge
// CHECK: String: the kernel would need {{[0-9]+}} bytes of shared memory, more than 48 KB
__global__ void tooLarge(const float *x, float *y) {
  __shared__ float tile[256][32];
  tile[threadIdx.x][0] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x][1];
}

// CHECK: Function: suppressed
// CHECK: String: suppressed by the NOKBOPT comment for line {{[0-9]+}}
__global__ void suppressed(const float *x, float *y) {
  __shared__ float tile[32][32]; // NOKBOPT(pad-shared-array)
  tile[threadIdx.x][0] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x][1];
}

// All elements as if they were one row.
// CHECK: Function: flattened
// CHECK: String: '''tile[0][threadIdx.x]'' may lie beyond its row'
__global__ void flattened(const float *x, float *y) {
  __shared__ float tile[32][32];
  tile[0][threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x % 32][0];
}

// The address of an element, in a type that wants more alignment.
// CHECK: Function: asVectors
// CHECK: String: '''tile'' is also used as a pointer, so its layout may matter'
__global__ void asVectors(const float *x, float *y) {
  __shared__ __align__(16) float tile[32][32];
  tile[threadIdx.x][0] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = reinterpret_cast<const float4 *>(&tile[threadIdx.x][0])->y;
}

void run(const float *x, float *y) {
  dim3 square(32, 32);
  noConflict<<<1, square>>>(x, y);
  oneDimension<<<1, 32>>>(x, y);
  sizedByLaunch<<<1, 32, 4096>>>(x, y);
  asPointer<<<1, 32>>>(x, y);
  wholeRow<<<1, 32>>>(x, y);
  measured<<<1, 32>>>(x, y);
  tooLarge<<<1, 256>>>(x, y);
  suppressed<<<1, 32>>>(x, y);
  flattened<<<1, 1024>>>(x, y);
  asVectors<<<1, 32>>>(x, y);
}
