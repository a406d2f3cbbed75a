// A kernel of one point uses no element of the launch before it twice, so that values are computed where it needs them.
// RUN: kb-opt -passes=fuse-kernels-vertical -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt -passes=fuse-kernels-vertical,schedule -o %t.all.cu %s 2>&1 | FileCheck --check-prefix=PARTS %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.all.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// REMARK: joined 2 launches in 'squares{{M}}ean'
// REMARK: each element of 'd' is needed by many points of the second launch
// PARTS: added 'squares{{M}}eanRows', 'squares{{M}}eanEnd' ({{.*}}parts=
// JUDGED: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {n: 200, m: 1024}
//   test-sizes: [{n: 1, m: 1}, {n: 7, m: 66}]
//   parameters:
//     - {name: loss, type: f32, shape: "1", role: out}
//     - {name: sums, type: f32, shape: "2", role: out}
//     - {name: q, type: f32, shape: [n, m], role: inout}
//     - {name: p, type: f32, shape: [n, m], role: in, init: normal}
//     - {name: t, type: f32, shape: [n, m], role: in, init: normal}
//     - {name: n, value: n}
//     - {name: m, value: m}

__global__ void squares(float *__restrict__ d, const float *__restrict__ p, const float *__restrict__ t, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    d[i] = (p[i] - t[i]) * (p[i] - t[i]);
}

// CHECK: squares{{M}}ean(
// CHECK: for (int {{.*}} < n * m;
// CHECK: mean += {{.*}};
__global__ void mean(float *__restrict__ y, const float *__restrict__ d, int points, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points)
    return;
  float mean = 0;
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < m; ++c)
      mean += d[r * m + c];
  y[i] = mean / (n * m);
}

void run(float *loss, float *sums, float *q, const float *p, const float *t, int n, int m) {
  float *d;
  cudaMalloc(&d, sizeof(float) * n * m);
  squares<<<(n * m + 255) / 256, 256>>>(d, p, t, n * m);
  mean<<<1, 32>>>(loss, d, 1, n, m);
  cudaFree(d);
  squares<<<(n * m + 255) / 256, 256>>>(q, p, t, n * m);
  mean<<<1, 32>>>(sums, q, 2, n, m);
}
