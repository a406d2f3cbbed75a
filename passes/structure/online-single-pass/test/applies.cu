// The maximum of a row and the sum of exponentials that is relative to it are formed in one pass.
// RUN: kb-opt -passes='online-single-pass{kernel=softmax},online-single-pass{kernel=weighted},online-single-pass{kernel=named},schedule{kernel=doubles as="rows online=1 vector=1 team=64 rows=1"}' -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt -passes='online-single-pass{kernel=scaled}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=NONE %s
// RUN: kb-opt -passes='online-single-pass{kernel=shifted}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=NONE %s
// RUN: kb-opt -passes='schedule{kernel=softmax as="rows online=1 cache=registers chunks=8"}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=KEPT %s
// RUN: kb-opt -passes='schedule{kernel=softmax as="rows team=32 rows=8 cache=none"}' -o %t.unasked.cu %s 2>/dev/null && %code %t.unasked.cu | FileCheck --check-prefix=UNASKED %s
// REMARK: added 'softmax{{_}}rows' (rows {{.*}}cache=none{{.*}} online=1
// REMARK: added 'weighted{{_}}rows' (rows {{.*}} online=1
// REMARK: added 'named{{_}}rows' (rows {{.*}} online=1
// REMARK: added 'doubles{{_}}rows' (rows {{.*}} online=1
// JUDGED: {{^}}correct
// NONE: remark: does not apply: schedule 'rows' has no key 'online'
// KEPT: remark: does not apply: with 'online=1' no row waits in registers
// UNASKED: softmax{{_}}rows(
// UNASKED-NOT: base
// UNASKED: sum += expf({{.*}} - top);
// kb-workload:
//   entry: run
//   sizes: {rows: 9, n: 1536}
//   test-sizes: [{rows: 1, n: 1}, {rows: 3, n: 68}, {rows: 2, n: 1031}]
//   parameters:
//     - {name: y, type: f32, shape: [rows, n], role: out}
//     - {name: s, type: f32, shape: "2 * rows", role: out}
//     - {name: d, type: f64, shape: rows, role: out}
//     - {name: x, type: f32, shape: [rows, n], role: in, init: "normal(0, 3)"}
//     - {name: w, type: f32, shape: n, role: in, init: "uniform(0.5, 1)"}
//     - {name: xd, type: f64, shape: [rows, n], role: in, init: normal}
//     - {name: rows, value: rows}
//     - {name: n, value: n}

// CHECK: softmax{{_}}rows(
// CHECK: const float before = top;
// CHECK: float4
// CHECK: top = fmaxf(top, xs[e]);
// CHECK-NEXT: const float base = top == -INFINITY ? 0 : top;
// CHECK-NEXT: sum *= expf(before - base);
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT: for (int e
// CHECK-NEXT: sum += expf(xs[e] - base);
// CHECK-NEXT: }
// CHECK-NEXT: const float own = top;
// CHECK: sum *= expf(own - top);
// CHECK: expf({{.*}} - top) / sum
__global__ void softmax(float *y, const float *x, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float top = -INFINITY;
  for (int j = 0; j < n; ++j)
    top = fmaxf(top, x[row * n + j]);
  float sum = 0;
  for (int j = 0; j < n; ++j)
    sum += expf(x[row * n + j] - top);
  for (int j = 0; j < n; ++j)
    y[row * n + j] = expf(x[row * n + j] - top) / sum;
}

// Two sums, one of them weighted and from another value on.
// CHECK: weighted{{_}}rows(
// CHECK: part *= expf(before - base);
// CHECK-NEXT: sum *= expf(before - base);
// CHECK: part += w{{.*}} * expf({{.*}} - base);
__global__ void weighted(float *s, const float *x, const float *w, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float top = x[row * n], sum = 0, mean = 1;
  for (int j = 0; j < n; ++j)
    top = x[row * n + j] > top ? x[row * n + j] : top;
  for (int j = 0; j < n; ++j) {
    mean += w[j] * expf(x[row * n + j] - top);
    sum += expf(x[row * n + j] - top);
  }
  s[row] = logf(sum) + top + mean / sum;
}

// CHECK: named{{_}}rows(
// CHECK: float e = expf({{.*}} - base);
__global__ void named(float *s, const float *x, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float top = -1e30f, sum = 0;
  for (int j = 0; j < n; ++j)
    top = fmaxf(top, 0.5f * x[row * n + j]);
  for (int j = 0; j < n; ++j) {
    const float e = expf(0.5f * x[row * n + j] - top);
    sum += e;
  }
  s[rows + row] = logf(sum) + top;
}

// CHECK: doubles{{_}}rows(
// CHECK: const double base = most == -INFINITY ? 0 : most;
__global__ void doubles(double *d, const double *x, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  double most = -INFINITY, sum = 0;
  for (int j = 0; j < n; ++j)
    most = fmax(most, x[row * n + j]);
  for (int j = 0; j < n; ++j)
    sum += exp(x[row * n + j] - most);
  d[row] = sum;
}

// The maximum is used for more than to be subtracted.
__global__ void scaled(float *s, const float *x, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float top = -INFINITY, sum = 0;
  for (int j = 0; j < n; ++j)
    top = fmaxf(top, x[row * n + j]);
  for (int j = 0; j < n; ++j)
    sum += expf(x[row * n + j] / top);
  s[row] = sum;
}

// A term that is no multiple of the exponential.
__global__ void shifted(float *s, const float *x, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float top = -INFINITY, sum = 0;
  for (int j = 0; j < n; ++j)
    top = fmaxf(top, x[row * n + j]);
  for (int j = 0; j < n; ++j)
    sum += expf(x[row * n + j] - top) + 1;
  s[row] = sum;
}

void run(float *y, float *s, double *d, const float *x, const float *w, const double *xd, int rows, int n) {
  softmax<<<(rows + 31) / 32, 32>>>(y, x, rows, n);
  weighted<<<(rows + 31) / 32, 32>>>(s, x, w, rows, n);
  named<<<(rows + 31) / 32, 32>>>(s, x, rows, n);
  doubles<<<(rows + 31) / 32, 32>>>(d, xd, rows, n);
}
