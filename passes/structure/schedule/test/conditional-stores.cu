// An element that is stored under a condition reaches memory, though its loads run ahead: what is held is the element as it
// was. Conditions on data are comparisons that no value of it breaks.
// RUN: kb-opt "-passes=schedule{as='map block=64 vector=4 inflight=2'}" --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s
// RUN: kb-opt "-passes=schedule{as='map block=64 inflight=4'}" --quiet -o %t.cu %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s
// REQUIRES: sandbox
// JUDGE: {{^}}correct
//
// kb-workload:
//   entry: run
//   sizes: {n: 2048}
//   test-sizes: [{n: 256}, {n: 1028}]
//   parameters:
//     - {name: a, type: i32, shape: n, role: inout, init: "range(-50, 50)"}
//     - {name: b, type: i32, shape: n, role: in, init: "range(-50, 50)"}
//     - {name: c, type: u32, shape: n, role: inout, init: "range(0, 50)"}
//     - {name: d, type: i32, shape: n, role: inout, init: "range(0, 50)"}
//     - {name: e, type: i32, shape: n, role: inout, init: "range(0, 50)"}
//     - {name: f, type: i32, shape: n, role: in, init: "range(0, 3000)", range: [0, 2999]}
//     - {name: g, type: i32, shape: n, role: inout, init: "range(0, 3000)", range: [0, 2999]}
//     - {name: n, value: n}
//     - {name: most, value: 30}

// CHECK-LABEL: relax_{{w}}ide(int
// CHECK: int u = as[k][e];
// CHECK: if (v < u)
// CHECK-NEXT: a[i] = v;
__global__ void relax(int *a, const int *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int u = a[i], v = b[i];
    if (v < u)
      a[i] = v;
  }
}

// The difference of unsigned values is never negative.
// CHECK-LABEL: lower_{{w}}ide(unsigned
// CHECK: unsigned int u = cs[k][e];
// CHECK: if (v < u)
// CHECK-NEXT: c[i] = v;
// CHECK: if (i < most)
// CHECK-NEXT: d[i] = 1;
__global__ void lower(unsigned *c, const unsigned *b, int *d, int n, unsigned most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    unsigned u = c[i], v = b[i];
    if (v < u)
      c[i] = v;
    if (i < most)
      d[i] = 1;
  }
}

// What is loaded after a store may be what was stored. Sums of data are formed in 64 bits.
// CHECK-LABEL: keep_{{w}}ide(int
// CHECK-NOT: es[
// CHECK: if ((long long)u + 3 < (long long)i + v)
// CHECK-NEXT: e[i] = v;
// CHECK: gs[k][{{.*}}] = e[i];
__global__ void keep(int *e, const int *f, int *g, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int u = f[i], v = g[i];
    if (u - v < i - 3)
      e[i] = v;
    g[i] = e[i];
  }
}

void run(int *a, const int *b, unsigned *c, int *d, int *e, const int *f, int *g, int n, unsigned most) {
  relax<<<(n + 63) / 64, 64>>>(a, b, n);
  lower<<<(n + 63) / 64, 64>>>(c, (const unsigned *)b, d, n, most);
  keep<<<(n + 63) / 64, 64>>>(e, f, g, n);
}
