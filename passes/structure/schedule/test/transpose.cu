// A map that reads along one dimension and writes along another goes through a tile in shared memory.
// RUN: kb-opt -passes=schedule -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt --quiet "-passes=schedule{as='transpose tile=16 block=64'}" -o %t.small.cu %s
// RUN: kb-opt --by-passes --judge=%t.small.cu %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt --quiet "-passes=schedule{as='transpose tile=64 vector=2 block=512'}" -o %t.large.cu %s
// RUN: kb-opt --by-passes --judge=%t.large.cu %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt --quiet "-passes=schedule{kernel=halves as='transpose tile=64 vector=8'}" -o %t.halves.cu %s
// RUN: kb-opt --by-passes --judge=%t.halves.cu %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {b: 3, n: 36, m: 68}
//   test-sizes: [{b: 1, n: 1, m: 1}, {b: 2, n: 33, m: 70}, {b: 1, n: 64, m: 32}]
//   parameters:
//     - {name: y, type: f32, shape: "b * n * m", role: out}
//     - {name: p, type: f32, shape: "b * n * m", role: out}
//     - {name: q, type: f32, shape: "b * n * m", role: out}
//     - {name: h, type: f16, shape: "b * n * m", role: out}
//     - {name: g, type: f32, shape: "n * m", role: out}
//     - {name: x, type: f32, shape: "b * n * m", role: in, init: "uniform(-1, 1)"}
//     - {name: z, type: f32, shape: "b * n * m", role: in, init: "uniform(-1, 1)"}
//     - {name: xh, type: f16, shape: "b * n * m", role: in, init: "uniform(-1, 1)"}
//     - {name: b, value: b}
//     - {name: n, value: n}
//     - {name: m, value: m}
#include <cuda_fp16.h>

// REMARK: added 'transpose{{_}}tiled', 'transpose{{_}}tiled2' (transpose block=256 otherwise=1 tile=64 vector=2)
// CHECK: float2 {{.*}}ins
// CHECK: transpose_{{t}}iled2(
// CHECK: __shared__ float ins[tile][tile + 1];
// CHECK: ins[{{.*}}threadIdx.x] = in[
// CHECK: __syncthreads();
// CHECK: = ins[threadIdx.x][
__global__ void transpose(float *out, const float *in, int n, int m) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < m)
    out[j * n + i] = 2.0f * in[i * m + j];
}

// REMARK: added 'permute{{_}}tiled'
__global__ void permute(float *out, const float *in, int b, int n, int h, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < b * n * h * d) {
    int bb = i / (n * h * d), r = i % (n * h * d), nn = r / (h * d), r2 = r % (h * d);
    int hh = r2 / d, dd = r2 % d;
    out[((bb * h + hh) * d + dd) * n + nn] = in[i];
  }
}

// Several arrays, of which one lies as the output does.
// REMARK: added 'join{{_}}tiled'
__global__ void join(float *out, const float *a, const float *c, int b, int n, int m) {
  int k = blockIdx.z, i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < m) {
    float scale = c[(k * m + j) * n + i];
    if (scale > 0.0f)
      scale *= 0.5f;
    out[(k * m + j) * n + i] = a[(k * n + i) * m + j] * scale + c[(k * n + i) * m + j];
  }
}

// REMARK: added 'halves{{_}}tiled', 'halves{{_}}tiled2' (transpose block=256 otherwise=1 tile=64 vector=2)
__global__ void halves(__half *out, const __half *in, int n, int m) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < m)
    out[j * n + i] = in[i * m + j];
}

// A loop of each thread is a dimension like the others.
// REMARK: added 'columns{{_}}tiled'
__global__ void columns(float *out, const float *in, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float half = 0.5f;
    for (int j = 0; j < m; ++j)
      out[j * n + i] = half * in[i * m + j];
  }
}

void run(float *y, float *p, float *q, __half *h, float *g, const float *x, const float *z, const __half *xh, int b, int n,
         int m) {
  dim3 block(32, 8), grid((m + 31) / 32, (n + 7) / 8);
  transpose<<<grid, block>>>(y, x, b * n, m);
  permute<<<(b * n * m + 255) / 256, 256>>>(p, x, b, n, 1, m);
  join<<<dim3((m + 31) / 32, (n + 7) / 8, b), block>>>(q, x, z, b, n, m);
  halves<<<grid, block>>>(h, xh, n, m);
  columns<<<(n + 63) / 64, 64>>>(g, x, n, m);
}
