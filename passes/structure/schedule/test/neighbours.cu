// Lanes run along the dimension of neighbouring elements, and a comment says so only where they do.
// RUN: kb-opt -passes=schedule -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt --quiet "-passes=schedule{kernel=normalize as=rows}" -o - %s | FileCheck --check-prefix=ROWS %s
// RUN: kb-opt --quiet "-passes=schedule{kernel=sumRows as=map}" -o - %s | FileCheck --check-prefix=MAP %s
// JUDGED: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {n: 36, m: 68}
//   test-sizes: [{n: 1, m: 1}, {n: 33, m: 70}, {n: 64, m: 5}]
//   parameters:
//     - {name: a, type: f32, shape: "n * m", role: inout}
//     - {name: r, type: f32, shape: "m * m", role: inout}
//     - {name: s, type: f32, shape: "n * m", role: inout}
//     - {name: f, type: f32, shape: "4 * n * m", role: out}
//     - {name: y, type: f32, shape: "n", role: out}
//     - {name: q, type: f32, shape: "n * m", role: in, init: "uniform(-1, 1)"}
//     - {name: x, type: f32, shape: "4 * n * m", role: in, init: "uniform(-1, 1)"}
//     - {name: n, value: n}
//     - {name: m, value: m}

// As PolyBench's Gram-Schmidt: the loops run down a column, under a condition.
// REMARK: added 'normalize{{_}}columns'
// CHECK: normalize_{{c}}olumns(
// CHECK: const int j = min(column, m - 1);
// CHECK: if (column < m && k < j)
// ROWS: // The lanes of a warp share one 'j'.{{$}}
__global__ void normalize(float *a, float *r, const float *q, int k, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j > k && j < m) {
    r[k * m + j] = 0.0f;
    for (int i = 0; i < n; i++)
      r[k * m + j] += q[i * m + k] * a[i * m + j];
    for (int i = 0; i < n; i++)
      a[i * m + j] -= q[i * m + k] * r[k * m + j];
  }
}

// No dimension has neighbouring elements.
// REMARK: added 'strided{{_}}wide'
__global__ void strided(float *y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i * m] = y[i * m] * 2.0f;
}

// Four floats that one thread names stay one access.
// REMARK: added 'quads{{_}}wide'
// CHECK: quads_{{w}}ide(
// CHECK: *reinterpret_cast<float4 *>(xs) = *reinterpret_cast<const float4 *>(&x[
// CHECK: v_x = xs[0]
// CHECK: ys[3] =
// CHECK: *reinterpret_cast<float4 *>(&y[{{.*}} = *reinterpret_cast<const float4 *>(ys);
__global__ void quads(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 v = reinterpret_cast<const float4 *>(x)[i];
    v.x *= 2.0f;
    v.y += 1.0f;
    v.w *= v.z;
    reinterpret_cast<float4 *>(y)[i] = v;
  }
}

// In a loop, too.
// REMARK: added 'sumRows{{R}}ows'
// CHECK: sumRows{{R}}ows(
// CHECK: *reinterpret_cast<float4 *>(xs) =
// CHECK: v_w = xs[3];
// MAP: for (int j = 0; j < m; ++j) {
// MAP-NEXT: alignas(16) float xs[4];
// MAP-NEXT: *reinterpret_cast<float4 *>(xs) =
__global__ void sumRows(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j) {
      float4 v = reinterpret_cast<const float4 *>(x)[i * m + j];
      s += v.x + v.y + v.z + v.w;
    }
    y[i] = s;
  }
}

void run(float *a, float *r, float *s, float *f, float *y, const float *q, const float *x, int n, int m) {
  for (int k = 0; k < 3 && k < m; ++k)
    normalize<<<(m + 31) / 32, 32>>>(a, r, q, k, n, m);
  strided<<<(n + 31) / 32, 32>>>(s, n, m);
  quads<<<(n * m + 31) / 32, 32>>>(f, x, n * m);
  sumRows<<<(n + 31) / 32, 32>>>(y, x, n, m);
}
