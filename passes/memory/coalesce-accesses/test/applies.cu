// RUN: kb-opt -passes=coalesce-accesses --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// A square block: both extents are the same number, and the launch stays.
// CHECK-LABEL: void square
// CHECK: int row = blockIdx.x * blockDim.x + threadIdx.y;
// CHECK: int column = blockIdx.y * blockDim.y + threadIdx.x;
// REMARK: !Passed
// REMARK: Function: square
// REMARK: String: exchanged the roles of threadIdx.x and threadIdx.y
__global__ void square(const float *x, float *y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  y[row * n + column] = x[row * n + column];
}

// A matrix product with the roles the wrong way round.
// CHECK-LABEL: void product
// CHECK: int i = blockIdx.x * blockDim.y + threadIdx.y;
// CHECK: int j = blockIdx.y * blockDim.x + threadIdx.x;
__global__ void product(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a[i * n + k] * b[k * n + j];
  c[i * n + j] = sum;
}

// Shared memory and barriers of the whole block are no obstacle.
// CHECK-LABEL: void staged
// CHECK: tile[threadIdx.y][threadIdx.x] = x[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x];
__global__ void staged(const float *x, float *y, int n) {
  __shared__ float tile[16][16];
  tile[threadIdx.x][threadIdx.y] = x[(blockIdx.x * 16 + threadIdx.x) * n + blockIdx.y * 16 + threadIdx.y];
  __syncthreads();
  y[(blockIdx.x * 16 + threadIdx.x) * n + blockIdx.y * 16 + threadIdx.y] = tile[threadIdx.x][15 - threadIdx.y];
}

// Unsigned arithmetic, zero-extended: an address like any other.
// CHECK-LABEL: void unsignedRows
// CHECK: y[threadIdx.y * n + threadIdx.x] = x[threadIdx.y * n + threadIdx.x];
__global__ void unsignedRows(const float *x, float *y, int n) {
  y[threadIdx.x * n + threadIdx.y] = x[threadIdx.x * n + threadIdx.y];
}

// CHECK-LABEL: void wideRows
// CHECK: size_t row = blockIdx.x * blockDim.x + threadIdx.y;
// CHECK: unsigned column = blockIdx.y * blockDim.y + threadIdx.x;
__global__ void wideRows(const float *x, float *y, size_t pitch, unsigned n) {
  size_t row = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && column < n)
    y[row * pitch + column] = x[row * n + column];
}

void run(const float *x, float *y, int n) {
  // CHECK: square<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(x, y, n);
  square<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(x, y, n);
  // CHECK: product<<<dim3(n / 32, n / 4), dim3(4, 32)>>>(x, x, y, n);
  product<<<dim3(n / 32, n / 4), dim3(32, 4)>>>(x, x, y, n);
  staged<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(x, y, n);
  unsignedRows<<<1, dim3(16, 16)>>>(x, y, n);
  wideRows<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(x, y, n, n);
}
