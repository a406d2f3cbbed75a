// Threads have values of their own, under conditions, before they combine them: what they combine to is declared where it is
// used, whatever the loops over the threads declare.
// RUN: kb-opt "-passes=schedule{as='rows team=32 rows=4'}" --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s
// REQUIRES: sandbox
// JUDGE: {{^}}correct
//
// kb-workload:
//   entry: run
//   sizes: {n: 1000}
//   test-sizes: [{n: 64}, {n: 129}]
//   parameters:
//     - {name: y, type: f32, shape: (n + 127) / 128, role: out}
//     - {name: z, type: f32, shape: (n + 31) / 32, role: out}
//     - {name: x, type: f32, shape: n, role: in}
//     - {name: n, value: n}

__device__ float warpSum(float v) {
  for (int h = 16; h > 0; h /= 2)
    v += __shfl_down_sync(0xffffffff, v, h);
  return v;
}

__device__ float allSum(float v) {
  __shared__ float part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warpSum(v);
  if (lane == 0)
    part[warp] = v;
  __syncthreads();
  float sum = 0.0f;
  if (warp == 0) {
    sum = lane < blockDim.x / 32 ? part[lane] : 0.0f;
    sum = warpSum(sum);
  }
  return sum;
}

// The functions change their parameters.
// CHECK-LABEL: squares_{{r}}ows(float
// CHECK: v_2Sum += own_2;
// CHECK: y[x_] = sum;
__global__ void squares(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float own = 0.0f;
  if (i < n) {
    float square = x[i] * x[i];
    if (square > 1.0f)
      own = square;
  }
  float sum = allSum(own);
  if (threadIdx.x == 0)
    y[blockIdx.x] = sum;
}

// CHECK-LABEL: twice_{{r}}ows(float
// CHECK: float s_3 = own_2 * 2.0f;
// CHECK-NEXT: sSum += s_3;
// CHECK: z[x_] = sSum + qSum;
__global__ void twice(float *z, const float *x, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float own = 0.0f;
  if (i < n)
    own = x[i];
  float s = own * 2.0f;
  for (int h = 16; h > 0; h /= 2)
    s += __shfl_xor_sync(0xffffffff, s, h);
  float q = own * s;
  for (int h = 16; h > 0; h /= 2)
    q += __shfl_xor_sync(0xffffffff, q, h);
  if (threadIdx.x == 0)
    z[blockIdx.x] = s + q;
}

void run(float *y, float *z, const float *x, int n) {
  squares<<<(n + 127) / 128, 128>>>(y, x, n);
  twice<<<(n + 31) / 32, 32>>>(z, x, n);
}
