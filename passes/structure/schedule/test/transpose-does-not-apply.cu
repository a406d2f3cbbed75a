// What no transpose is, with the reason.
// RUN: kb-opt "-passes=schedule{as=transpose}" -o %t.cu %s 2>&1 | FileCheck %s
// RUN: diff %s %t.cu

// CHECK: [[#@LINE+1]]:17: remark: does not apply: it does not read along one dimension and write along another
__global__ void copy(float *out, const float *in, int n, int m) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < m)
    out[i * m + j] = in[i * m + j];
}

// The structs of three floats lie close enough.
// CHECK: [[#@LINE+1]]:17: remark: does not apply: it does not read along one dimension and write along another
__global__ void planes(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 3 * n) {
    int c = i % 3, p = i / 3;
    out[c * n + p] = in[i];
  }
}

// CHECK: [[#@LINE+1]]:17: remark: does not apply: each point runs a loop
__global__ void sums(float *out, const float *in, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j)
      s += in[i * m + j];
    out[i] = s;
  }
}

// An element is read only where a condition holds.
// CHECK: [[#@LINE+1]]:17: remark: does not apply: it does not read along one dimension and write along another
__global__ void guarded(float *out, const float *in, int n, int m, int limit) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < m)
    out[j * n + i] = j < limit ? in[i * m + j] : 0.0f;
}

void run(float *out, const float *in, int n, int m) {
  dim3 block(32, 8), grid((m + 31) / 32, (n + 7) / 8);
  copy<<<grid, block>>>(out, in, n, m);
  planes<<<(3 * n + 255) / 256, 256>>>(out, in, n);
  sums<<<(n + 255) / 256, 256>>>(out, in, n, m);
  guarded<<<grid, block>>>(out, in, n, m, 7);
}
