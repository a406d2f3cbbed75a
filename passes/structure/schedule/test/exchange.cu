// A block meets once for all sums of a loop. Where each thread has neighbouring elements of the sums of all rows, these change hands
// in shared memory, so that the lanes of a warp add to neighbouring elements.
// RUN: kb-opt "-passes=schedule{as='rows team=64 rows=1 block=64 cache=registers chunks=2 vector=4 inflight=1 level=1 otherwise=0'}" --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s %}
// JUDGE: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {n: 300, c: 200}
//   test-sizes: [{n: 1, c: 4}, {n: 7, c: 512}, {n: 40, c: 36}]
//   parameters:
//     - {name: dx, type: f32, shape: "n * c", role: inout, init: "uniform(-1, 1)"}
//     - {name: db, type: f32, shape: "c", role: inout, init: "uniform(-1, 1)"}
//     - {name: dw, type: f32, shape: "c", role: inout, init: "uniform(-1, 1)"}
//     - {name: dy, type: f32, shape: "n * c", role: in, init: "uniform(-1, 1)"}
//     - {name: x, type: f32, shape: "n * c", role: in, init: "uniform(-1, 1)"}
//     - {name: n, value: n}
//     - {name: c, value: c}

// CHECK: void gradients_rows_values(float &value, float &value2) {
// CHECK: __shared__ float ofWarp[2];
// CHECK: __shared__ float ofWarp2[2];
// CHECK: __syncthreads();
// CHECK: ofWarp[threadIdx.x / 32] = value;
// CHECK-NEXT: ofWarp2[threadIdx.x / 32] = value2;
// CHECK: gradients_{{r}}ows(
// CHECK: gradients_rows_values(all, products);
// CHECK: __shared__ float ofRow[chunks * lanes * width];
// CHECK: ofRow[first + e] = dbSums[k][e];
// CHECK: __syncthreads();
// CHECK-NEXT: for (int [[I:.*]] = threadIdx.x; [[I]] < c; [[I]] += lanes)
// CHECK-NEXT: atomicAdd(&db[[[I]]], ofRow[[[I]]]);
// CHECK-NEXT: __syncthreads();
// CHECK: ofRow[first + e] = dwSums[k][e];
// CHECK: atomicAdd(&dw[
__global__ void gradients(float *dx, float *db, float *dw, const float *dy, const float *x, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float all = 0.0f, products = 0.0f;
  for (int i = 0; i < c; ++i) {
    all += dy[row * c + i];
    products += dy[row * c + i] * x[row * c + i];
  }
  for (int i = 0; i < c; ++i) {
    atomicAdd(&db[i], dy[row * c + i]);
    atomicAdd(&dw[i], dy[row * c + i] * x[row * c + i]);
    dx[row * c + i] = dy[row * c + i] - all / c - x[row * c + i] * products / c;
  }
}

void run(float *dx, float *db, float *dw, const float *dy, const float *x, int n, int c) {
  gradients<<<(n + 63) / 64, 64>>>(dx, db, dw, dy, x, n, c);
}
