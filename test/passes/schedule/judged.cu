// What schedules of three classes print computes what the kernels did, at sizes for the new kernels and for the originals.
// The product keeps the order of its terms: with another one, equal values of 4e9 differ, and the softmax with them.
// REQUIRES: long
// RUN: kb-opt --quiet -passes='schedule{kernel=product as="contraction split=1 otherwise=1"},schedule{kernel=softmax},schedule{kernel=add}' -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s 2>&1 | FileCheck --check-prefix=JUDGED %s
// CHECK-DAG: product_{{t}}iled<<<
// CHECK-DAG: softmax_{{r}}ows<<<
// CHECK-DAG: add_{{w}}ide<<<
// JUDGED: {{^}}correct{{$}}
//
// kb-workload:
//   entry: run
//   sizes: {n: 64}
//   test-sizes: [{n: 8}, {n: 33}, {n: 1}, {n: 130}]
//   parameters:
//     - {name: a, type: f32, shape: n*n, role: in}
//     - {name: b, type: f32, shape: n*n, role: in}
//     - {name: c, type: f32, shape: n*n, role: out}
//     - {name: p, type: f32, shape: n*n, role: out}
//     - {name: n, value: n}
__global__ void product(const float *a, const float *b, float *c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && col < n) {
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
      sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
  }
}

__global__ void softmax(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float most = -INFINITY;
    for (int k = 0; k < n; ++k)
      most = fmaxf(most, in[i * n + k]);
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
      sum += expf(in[i * n + k] - most);
    for (int k = 0; k < n; ++k)
      out[i * n + k] = expf(in[i * n + k] - most) / sum;
  }
}

__global__ void add(float *c, const float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] += p[i];
}

void run(const float *a, const float *b, float *c, float *p, int n) {
  product<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n);
  softmax<<<(n + 63) / 64, 64>>>(p, c, n);
  add<<<(n * n + 63) / 64, 64>>>(c, p, n * n);
}
