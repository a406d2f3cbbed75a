// RUN: kb-opt -passes='grid-stride-loop{perSM=4}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// An early return: what depends on the element goes into the loop, the rest is
// computed once. Further returns leave the element only.
// CHECK-LABEL: void rowsStrided{{[0-9]*}}
// CHECK-NEXT: int total = rows * columns;
// CHECK-NEXT: int {{stride[0-9]*}} = gridDim.x * blockDim.x;
// CHECK-NEXT: for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += {{stride[0-9]*}}) {
// CHECK-NEXT: float sum = 0;
// CHECK-NEXT: int row = i / columns;
// CHECK: if (row == 3)
// CHECK-NEXT: continue;
// CHECK-NEXT: sum += x[i];
// CHECK-NEXT: y[i] = sum;
// CHECK-NEXT: }
// CHECK-NEXT: }
// REMARK: Function: rows
// REMARK: String: looped over the elements with 4 blocks for each of 132 SMs
__global__ void rows(const float *x, float *y, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int total = rows * columns;
  float sum = 0;
  int row = i / columns;
  if (i >= total)
    return;
  if (row == 3)
    return;
  sum += x[i];
  y[i] = sum;
}

// A template, an index of 64 bits, and a second condition in the guard.
// CHECK: template <typename T> __global__ void typedStrided{{[0-9]*}}(T *x, size_t n, bool on)
// CHECK: for (size_t i = threadIdx.x + blockDim.x * (size_t)blockIdx.x; i < n; i += {{stride[0-9]*}})
// CHECK-NEXT: if (on) {
// CHECK-NEXT: x[i] += 1;
template <typename T> __global__ void typed(T *x, size_t n, bool on) {
  size_t i = threadIdx.x + blockDim.x * (size_t)blockIdx.x;
  if (i < n && on) {
    x[i] += 1;
  }
}

// Sums of integers do not show the order of elements.
// CHECK-LABEL: void count_values_strided{{[0-9]*}}
// CHECK: i += {{stride[0-9]*}})
// CHECK-NEXT: atomicAdd(&counts[x[i]], 1);
__global__ void count_values(const int *x, int *counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&counts[x[i]], 1);
}

// Nothing is left to the run: only the new kernel stays.
// CHECK-LABEL: void always
// CHECK-NEXT: int {{stride[0-9]*}}
// CHECK-NOT: void always
__global__ void always(float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 1000000)
    x[i] *= 2.0f;
}

int ceilDiv(int a, int b) { return (a + b - 1) / b; }
#define LAUNCH(x, n) typed<<<ceilDiv(n, 64), 64>>>(x, n, true)

// CHECK-LABEL: void run
void run(float *x, double *y, int *counts, int n, int block_size, cudaStream_t stream) {
  // CHECK: int {{blocks[0-9]*}} = ceilDiv(n * 3, block_size);
  // CHECK-NEXT: if ({{blocks[0-9]*}} > 4 * 132)
  // CHECK-NEXT: {{blocks[0-9]*}} = 4 * 132; // blocks per SM, SMs
  // CHECK-NEXT: if ((n * 3) <= 1 << 30)
  // CHECK-NEXT: rowsStrided{{[0-9]*}}<<<{{blocks[0-9]*}}, block_size, 0, stream>>>(x, x, n, 3);
  // CHECK-NEXT: else
  // CHECK-NEXT: rows<<<ceilDiv(n * 3, block_size), block_size, 0, stream>>>(x, x, n, 3);
  rows<<<ceilDiv(n * 3, block_size), block_size, 0, stream>>>(x, x, n, 3);

  // The grid's other dimensions stay; a launch in a macro keeps the original.
  // CHECK: dim3 grid(n / 32, 2), block(32);
  // CHECK-NEXT: if (n > 3) {
  // CHECK-NEXT: unsigned {{blocks[0-9]*}} = grid.x;
  // CHECK: if ((long long)grid.x * block.x >= (unsigned long)n)
  // CHECK-NEXT: typedStrided{{[0-9]*}}<double><<<dim3({{blocks[0-9]*}}, grid.y, grid.z), block>>>(y, n, false);
  // CHECK: else if (n > 2) LAUNCH(x, n);
  dim3 grid(n / 32, 2), block(32);
  if (n > 3) typed<double><<<grid, block>>>(y, n, false);
  else if (n > 2) LAUNCH(x, n);

  // CHECK: if (n <= 1 << 30)
  // CHECK-NEXT: count_values_strided{{[0-9]*}}<<<
  int threads = 256;
  count_values<<<(n + threads - 1) / threads, threads>>>(counts, counts + n, n);

  // CHECK-NOT: if (1000000
  // CHECK: {{^  }}always<<<4 * 132, 128>>>(x);
  always<<<(1000000 + 127) / 128, 128>>>(x);
}
