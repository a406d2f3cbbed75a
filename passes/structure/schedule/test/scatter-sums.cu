// Sums of floats by atomics: a thread walks over several rows and adds once for a run of one segment, a block adds a total once.
// RUN: kb-opt "-passes=schedule{as='scatter combine=thread along=i inflight=4'}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt "-passes=schedule{as='scatter combine=block along=none inflight=4 block=64'}" --quiet -o %t.block.cu %s
// RUN: %code %t.block.cu | FileCheck --check-prefix=BLOCK %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.block.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt "-passes=schedule{as='scatter combine=runs along=none inflight=2 block=64'}" --quiet -o %t.runs.cu %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.runs.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt "-passes=schedule{as='scatter combine=bins along=none bins=32 inflight=2 block=64'}" --quiet -o %t.bins.cu %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.bins.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt "-passes=schedule{as='scatter combine=thread along=none inflight=4 block=32'}" --quiet -o %t.flat.cu %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.flat.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// JUDGED: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {n: 150, columns: 40}
//   test-sizes: [{n: 33, columns: 3}, {n: 2, columns: 1}, {n: 70, columns: 33}]
//   tolerance: {relative: 1e-4, absolute: 1e-4}
//   parameters:
//     - {name: out, type: f32, shape: "n * columns + columns + 1", role: inout, init: "uniform(0, 1)"}
//     - {name: all, type: f64, shape: "1", role: inout, init: "uniform(0, 1)"}
//     - {name: x, type: f32, shape: "n * columns + n", role: in, init: "uniform(0, 1)"}
//     - {name: to, type: i32, shape: "n", role: in, init: "range(0, 2)", range: [0, n - 1]}
//     - {name: n, value: n}
//     - {name: columns, value: columns}

// CHECK: segments_{{s}}catter(
// CHECK: for (int i = iFirst; i < min(iFirst + count, n); ++i) {
// CHECK: float *const target = &out[c + (size_t)columns * to_index];
// CHECK: if (target == outTo)
// CHECK-NEXT: outSum = outSum + value;
// CHECK-NEXT: else {
// CHECK-NEXT: if (outTo)
// CHECK-NEXT: atomicAdd(outTo, outSum);
// CHECK: if (outTo)
// CHECK-NEXT: atomicAdd(outTo, outSum);
__global__ void segments(float *out, const float *x, const int *to, int n, int columns) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n * columns) {
    int i = t / columns, c = t % columns;
    atomicAdd(&out[to[i] * columns + c], x[i * columns + c]);
  }
}

// Elements that do not depend on the row.
// CHECK: columnSums{{S}}catter(
// CHECK: outSum = outAny ? outSum + x[c + (size_t)i * columns]
// CHECK: if (outAny)
// CHECK-NEXT: atomicAdd(&out[c], outSum);
__global__ void columnSums(float *out, const float *x, int n, int columns) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && c < columns)
    atomicAdd(&out[c], x[i * columns + c]);
}

// BLOCK: dot{{_}}scatter(
// BLOCK: __shared__ float outSums[2];
// BLOCK: if (threadIdx.x == 0 && outAny)
// BLOCK-NEXT: atomicAdd(&out[0], outSum);
__global__ void dot(float *out, const float *x, const float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(out, x[i] * y[i]);
}

// Of both dimensions.
// BLOCK: energy{{_}}scatter(
__global__ void energy(double *out, const float *x, int w, int h) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (j < w && i < h)
    atomicAdd(out, (double)x[i * w + j] * x[i * w + j]);
}

void run(float *out, double *all, const float *x, const int *to, int n, int columns) {
  segments<<<(n * columns + 63) / 64, 64>>>(out, x, to, n, columns);
  columnSums<<<dim3((columns + 31) / 32, (n + 3) / 4), dim3(32, 4)>>>(out + n * columns, x, n, columns);
  dot<<<(n + 63) / 64, 64>>>(out + n * columns + columns, x, x + n, n);
  energy<<<dim3((columns + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(all, x, columns, n);
}
