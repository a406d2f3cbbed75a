// RUN: kb-opt -passes=vectorize-loads --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// A grid-stride loop: vectors are dealt as elements were; integers, and an index used by itself.
// CHECK-LABEL: void strided
// CHECK: const bool [[ALIGNED:aligned[0-9]*]] = (reinterpret_cast<size_t>(y) | reinterpret_cast<size_t>(x)) % 16 == 0;
// CHECK: const auto [[VECTORS:vectors[0-9]*]] = [[ALIGNED]] ? n / 4 : 0;
// CHECK: for (int [[VECTOR:vector[0-9]*]] = blockIdx.x * blockDim.x + threadIdx.x; [[VECTOR]] < [[VECTORS]];
// CHECK: [[VECTOR]] += gridDim.x * blockDim.x) {
// CHECK: const int [[FIRST:first[0-9]*]] = [[VECTOR]] * 4;
// CHECK: alignas(16) int [[XS:xs[0-9]*]][4];
// CHECK: *reinterpret_cast<int4 *>([[XS]]) = *reinterpret_cast<const int4 *>(&x{{.}}[[FIRST]]]);
// CHECK: #pragma unroll
// CHECK: for (int [[LANE:lane[0-9]*]] = 0; [[LANE]] < 4; ++[[LANE]]) {
// CHECK: const int i = [[FIRST]] + [[LANE]];
// CHECK: [[YS:ys[0-9]*]]{{.}}[[LANE]]] = [[XS]]{{.}}[[LANE]]] + i;
// CHECK: *reinterpret_cast<int4 *>(&y{{.}}[[FIRST]]]) = *reinterpret_cast<const int4 *>([[YS]]);
// CHECK: for (int i = [[VECTORS]] * 4 + (blockIdx.x * blockDim.x + threadIdx.x); i < n;
// CHECK: y[i] = x[i] + i;
// REMARK: !Passed
// REMARK: Function: strided
// REMARK: String: 'moved 4 elements at a time of ''y'' ''x'''
__global__ void strided(const int *__restrict__ x, int *__restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i] + i;
}

// One thread reads a row: the sum is formed in the same order.
// CHECK-LABEL: void rows
// CHECK: const bool aligned{{[0-9]*}} =
// CHECK: (reinterpret_cast<size_t>(&x[row * columns + 0])) % 16 == 0;
// CHECK: *reinterpret_cast<float4 *>(xs{{[0-9]*}}) =
// CHECK: *reinterpret_cast<const float4 *>(&x[row * columns + first{{[0-9]*}}]);
// CHECK: sum += xs{{[0-9]*}}[lane{{[0-9]*}}] * w[k * 3];
// CHECK: sum += x[row * columns + k] * w[k * 3];
__global__ void rows(const float *__restrict__ x, const float *__restrict__ w,
                     float *__restrict__ sums, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < columns; ++k)
    sum += x[row * columns + k] * w[k * 3];
  sums[row] = sum;
}

// Doubles go two at a time; an early return serves as well as an if.
// CHECK-LABEL: void early
// CHECK: const auto vectors{{[0-9]*}} = aligned{{[0-9]*}} ? n / 2 : 0;
// CHECK: alignas(16) double xs{{[0-9]*}}[2];
// CHECK: *reinterpret_cast<double2 *>
__global__ void early(const double *__restrict__ x, double *__restrict__ y, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n)
    return;
  double v = x[i];
  y[i] = v * v;
}

// CHECK: early<<<dim3((grid.x + 1) / 2, grid.y, grid.z), block>>>(x, y, n);
void run(const double *x, double *y, int n) {
  dim3 block(128);
  dim3 grid((n + block.x - 1) / block.x);
  early<<<grid, block>>>(x, y, n);
}

// Unsigned row * n + i may wrap at 2^32: within a vector it does not where x itself
// is aligned, too.
// CHECK-LABEL: void unsignedRow
// CHECK: (reinterpret_cast<size_t>(&x[row * n + 0]) | reinterpret_cast<size_t>(x))
__global__ void unsignedRow(const float *__restrict__ x, float *__restrict__ y, unsigned row, unsigned n) {
  float sum = 0;
  for (unsigned k = 0; k < n; ++k)
    sum += x[row * n + k];
  y[threadIdx.x] = sum;
}
