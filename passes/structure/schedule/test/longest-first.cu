// Sums that grow from row to row: blocks with the longest ones begin first, those of all batches before the next shorter ones.
// RUN: kb-opt "-passes=schedule{as='contraction bm=64 bn=64 bk=16 tm=8 tn=4 stages=2 vector=1'}" --quiet -o %t.cu %s
// RUN: grep -v '^//' %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s %}
// JUDGE: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {n: 150, c: 70, h: 3}
//   test-sizes: [{n: 1, c: 1, h: 1}, {n: 65, c: 3, h: 2}, {n: 64, c: 65, h: 1}]
//   parameters:
//     - {name: mixed, type: f32, shape: "h * n * c", role: inout, init: "uniform(-1, 1)"}
//     - {name: sums, type: f32, shape: "n * c", role: inout, init: "uniform(-1, 1)"}
//     - {name: w, type: f32, shape: "h * n * n", role: in, init: "uniform(-1, 1)"}
//     - {name: x, type: f32, shape: "h * n * c", role: in, init: "uniform(-1, 1)"}
//     - {name: n, value: n}
//     - {name: c, value: c}
//     - {name: h, value: h}

// CHECK: mix_{{t}}iled(
// CHECK: const int batches = gridDim.x / (columnTiles * rowTiles);
// CHECK: const int head = blockIdx.x % batches;
// CHECK: const int tile = columnTiles * rowTiles - 1 - blockIdx.x / batches; // the longest sums first
__global__ void mix(float *out, const float *w, const float *x, int n, int c) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y, head = blockIdx.z;
  if (row >= n || column >= c)
    return;
  float sum = 0.0f;
  for (int i = 0; i <= row; ++i)
    sum += w[(head * n + row) * n + i] * x[(head * n + i) * c + column];
  out[(head * n + row) * c + column] = sum;
}

// CHECK: prefix_{{t}}iled(
// CHECK: const int tile = columnTiles * rowTiles - 1 - blockIdx.x; // the longest sums first
__global__ void prefix(float *out, const float *w, const float *x, int n, int c) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= c)
    return;
  float sum = 0.0f;
  for (int i = 0; i <= row; ++i)
    sum += w[row * n + i] * x[i * c + column];
  out[row * c + column] = sum;
}

// Here the first rows have the longest sums anyway.
// CHECK: suffix_{{t}}iled(
// CHECK-NOT: longest
// CHECK: suffix_{{t}}iled<<<
__global__ void suffix(float *out, const float *w, const float *x, int n, int c) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= c)
    return;
  float sum = 0.0f;
  for (int i = 0; i < n - row; ++i)
    sum += w[row * n + i] * x[i * c + column];
  out[row * c + column] += sum;
}

void run(float *mixed, float *sums, const float *w, const float *x, int n, int c, int h) {
  dim3 block(16, 16), grid((c + 15) / 16, (n + 15) / 16), grids((c + 15) / 16, (n + 15) / 16, h);
  mix<<<grids, block>>>(mixed, w, x, n, c);
  prefix<<<grid, block>>>(sums, w, x, n, c);
  suffix<<<grid, block>>>(sums, w, x, n, c);
}
