// A program of two slow kernels has both of them scheduled by the first candidate.
//
// REQUIRES: sandbox, long
// RUN: rm -rf %t && mkdir %t && cp %s %t/two.cu && cd %t
// RUN: %status 0,4 kb-opt -v -passes=auto --budget-candidates=1 --emit=source --no-memory --knowledge=kb --journal=j.sqlite two.cu -j 2 -o auto.cu 2> err
// RUN: FileCheck %s < err
// RUN: grep -v '^ *//' auto.cu | FileCheck --check-prefix=SOURCE %s
// CHECK: [sketch] schedule{{.*kernel=product.*}},schedule{{.*kernel=sums.*}} correct
// CHECK-NOT: [sketch]
// CHECK: result: {{[2-9]}}.{{[0-9]+}} x faster
// SOURCE: product_{{[a-z]+}}<<<
// SOURCE: sums_{{[a-z]+}}<<<
//
// kb-workload:
//   entry: run
//   sizes: {n: 256}
//   test-sizes: [{n: 1}, {n: 33}]
//   unseen-sizes: [{n: 37}]
//   parameters:
//     - {name: c, type: f32, shape: n*n, role: out}
//     - {name: s, type: f32, shape: n, role: out}
//     - {name: a, type: f32, shape: n*n, role: in, init: normal}
//     - {name: b, type: f32, shape: n*n, role: in, init: normal}
//     - {name: n, value: n}

__global__ void product(float *c, const float *a, const float *b, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n)
    return;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

__global__ void sums(float *s, const float *a, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a[row * n + k] * a[row * n + k];
  s[row] = sum;
}

void run(float *c, float *s, const float *a, const float *b, int n) {
  product<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(c, a, b, n);
  sums<<<(n + 63) / 64, 64>>>(s, a, n);
}
