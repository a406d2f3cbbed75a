// Rows and columns of a block that form sums beside each other compute the same on another schedule.
// RUN: kb-opt --quiet -passes='schedule{kernel=rowSums as="rows team=32"},schedule{kernel=columnSums as="columns columns=8"},schedule{kernel=columnTree as="columns columns=16"},schedule{kernel=keptSum as="rows team=64"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {n: 61, m: 33}
//   test-sizes: [{n: 1, m: 1}, {n: 130, m: 5}, {n: 8, m: 64}]
//   parameters:
//     - {name: a, type: f32, shape: "n", role: out}
//     - {name: b, type: f32, shape: "m", role: out}
//     - {name: c, type: f32, shape: "m", role: out}
//     - {name: d, type: f32, shape: "n", role: out}
//     - {name: x, type: f32, shape: "n * m", role: in, init: "uniform(0, 1)"}
//     - {name: n, value: n}
//     - {name: m, value: m}

// CHECK: rowSums{{_r|R}}ows<<<
// CHECK: columnSums{{_c|C}}olumns<<<
// CHECK: columnTree{{_c|C}}olumns<<<
// CHECK: keptSum{{_r|R}}ows<<<

__global__ void rowSums(float *y, const float *x, int n, int m) {
  __shared__ float part[8][32];
  int row = blockIdx.x * blockDim.y + threadIdx.y, t = threadIdx.x;
  float sum = 0;
  if (row < n)
    for (int j = t; j < m; j += blockDim.x)
      sum += x[row * m + j];
  part[threadIdx.y][t] = sum;
  __syncthreads();
  for (int h = 16; h > 0; h >>= 1) {
    if (t < h)
      part[threadIdx.y][t] += part[threadIdx.y][t + h];
    __syncthreads();
  }
  if (t == 0 && row < n)
    y[row] = part[threadIdx.y][0];
}

__global__ void columnSums(float *y, const float *x, int n, int m) {
  __shared__ float part[8][33];
  int col = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  if (col < m)
    for (int i = threadIdx.y; i < n; i += blockDim.y)
      sum += x[i * m + col];
  part[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && col < m) {
    float all = 0;
    for (int k = 0; k < 8; ++k)
      all += part[k][threadIdx.x];
    y[col] = all;
  }
}

__global__ void columnTree(float *y, const float *x, int n, int m) {
  __shared__ float part[16][16];
  int col = blockIdx.x * 16 + threadIdx.x, t = threadIdx.y;
  float sum = 0;
  if (col < m)
    for (int i = t; i < n; i += 16)
      sum += x[i * m + col];
  part[t][threadIdx.x] = sum;
  __syncthreads();
  for (int h = 8; h > 0; h /= 2) {
    if (t < h)
      part[t][threadIdx.x] += part[t + h][threadIdx.x];
    __syncthreads();
  }
  if (t == 0 && col < m)
    y[col] = part[0][threadIdx.x];
}

__global__ void keptSum(float *y, const float *x, int m) {
  extern __shared__ float part[];
  int t = threadIdx.x;
  float sum = 0;
  for (int j = t; j < m; j += blockDim.x)
    sum += x[blockIdx.x * m + j];
  part[t] = sum;
  __syncthreads();
  for (int h = blockDim.x / 2; h > 0; h >>= 1) {
    if (t < h)
      part[t] = sum = sum + part[t + h];
    __syncthreads();
  }
  if (t == 0)
    y[blockIdx.x] = sum;
}

void run(float *a, float *b, float *c, float *d, const float *x, int n, int m) {
  rowSums<<<(n + 7) / 8, dim3(32, 8)>>>(a, x, n, m);
  columnSums<<<(m + 31) / 32, dim3(32, 8)>>>(b, x, n, m);
  columnTree<<<(m + 15) / 16, dim3(16, 16)>>>(c, x, n, m);
  keptSum<<<n, 64, 64 * sizeof(float)>>>(d, x, m);
}
