// Neighbouring floats that are added to rows which data names: one atomic for four of them, on sm_90 where it is asked for.
// RUN: kb-opt "-passes=schedule{as='map vector=4 adds=vector lanes=c'}" --chip=h200 --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt "-passes=schedule{as='map vector=2 adds=vector lanes=c'}" --chip=h200 --quiet -o %t.two.cu %s
// RUN: kb-opt --by-passes --judge=%t.two.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt "-passes=schedule{as='map vector=4 adds=vector'}" --chip=a100 --quiet --remarks-file=%t.yaml -o %t.before.cu %s
// RUN: FileCheck --check-prefix=BEFORE %s < %t.yaml
// RUN: kb-opt "-passes=schedule{as='map'}" --chip=h200 --quiet -o %t.single.cu %s
// RUN: %code %t.single.cu | FileCheck --check-prefix=SINGLE %s
// JUDGED: {{^}}correct

// kb-workload:
//   entry: run
//   sizes: {n: 150, columns: 40}
//   test-sizes: [{n: 33, columns: 3}, {n: 2, columns: 4}, {n: 70, columns: 32}]
//   tolerance: {relative: 1e-4, absolute: 1e-4}
//   parameters:
//     - {name: out, type: f32, shape: "n * columns", role: inout, init: "uniform(0, 1)"}
//     - {name: x, type: f32, shape: "n * columns", role: in, init: "uniform(0, 1)"}
//     - {name: to, type: i32, shape: "n", role: in, init: "range(0, 2)", range: [0, n - 1]}
//     - {name: n, value: n}
//     - {name: columns, value: columns}

// CHECK: rows_{{w}}ide(
// CHECK: alignas(16) float outs[width];
// CHECK: outs[e] = xs[e] * 0.5f;
// CHECK: atomicAdd(reinterpret_cast<float4 *>(&out[
// CHECK: *reinterpret_cast<const float4 *>(outs));
// CHECK: if ({{.*}}columns % 4 == 0
// BEFORE: adding neighbouring elements by one atomic needs sm_90 or later
// SINGLE: rows_{{w}}ide(
// SINGLE: atomicAdd(&out[
__global__ void rows(float *out, const float *x, const int *to, int n, int columns) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n * columns) {
    int i = t / columns, c = t % columns;
    atomicAdd(&out[to[i] * columns + c], x[i * columns + c] * 0.5f);
  }
}

void run(float *out, const float *x, const int *to, int n, int columns) {
  rows<<<(n * columns + 63) / 64, 64>>>(out, x, to, n, columns);
}
