// Few long rows: the blocks of a grid share a row, in three launches.
// RUN: kb-opt --quiet -passes='schedule{kernel=sums as="scan launches=3 otherwise=1"},schedule{kernel=rowsOf as="scan launches=3 team=64 vector=2"},schedule{kernel=before as="scan launches=3 team=64 vector=4"},schedule{kernel=falling as="scan launches=3 team=64 vector=4"},schedule{kernel=upTo as="scan launches=3 team=128 vector=1"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// JUDGED: {{^}}correct
// RUN: kb-opt --quiet -passes='schedule{kernel=upTo as="scan launches=3"}' -o %t.ints.cu %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.ints.cu %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt --quiet -passes='schedule{kernel=upTo as="scan launches=2 team=128 vector=1"},schedule{kernel=most as="scan launches=2 team=64 vector=4"},schedule{kernel=offsets as="scan launches=2 team=64 vector=1"}' -o %t.single.cu %s
// RUN: %code %t.single.cu | FileCheck --check-prefix=SINGLE %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.single.cu %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt -passes='schedule{kernel=sums as="scan launches=2"}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=ORDER %s
// ORDER: the order of its sums would differ from run to run: 's' is of type 'float'
// kb-workload:
//   entry: run
//   sizes: {n: 33001, m: 1300}
//   test-sizes: [{n: 1, m: 1}, {n: 32768, m: 128}, {n: 32770, m: 130}, {n: 40000, m: 257}]
//   parameters:
//     - {name: a, type: f32, shape: "n", role: out}
//     - {name: b, type: f32, shape: "3 * m", role: out}
//     - {name: c, type: f32, shape: "2 * n", role: out}
//     - {name: d, type: f32, shape: "n", role: out}
//     - {name: e, type: i32, shape: "m", role: out}
//     - {name: t, type: f32, shape: "2", role: inout}
//     - {name: x, type: f32, shape: "2 * n + 3 * m", role: in, init: "uniform(0, 1)"}
//     - {name: k, type: i32, shape: "m", role: in, init: "uniform(-9, 9)"}
//     - {name: o, type: i32, shape: "4 * m + 3", role: out}
//     - {name: n, value: n}
//     - {name: m, value: m}

// A sum of a tile waits where the tile's first result will lie.
// CHECK: sums_{{s}}can(
// CHECK: sums_{{s}}can_before(own);
// CHECK: if (threadIdx.x == 0)
// CHECK-NEXT: y[tile] = own;
// CHECK: sums_{{s}}can_offsets(
// CHECK: y[{{.*}}at * {{.*}}] = upTo;
// CHECK: sums_{{s}}can_all(
// CHECK: s = y[tile];
// CHECK-NEXT: __syncthreads();
// CHECK: sums_{{s}}can2(
__global__ void sums(float *y, const float *x, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) {
    s += x[j];
    y[j] = s;
  }
}

// Several rows.
// CHECK: rowsOf{{S}}can(
// CHECK: const int tiles =
// CHECK: const int r = blockIdx.x / tiles;
__global__ void rowsOf(float *y, const float *x, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 1.0f;
  for (int j = 0; j < n; ++j) {
    s += 0.5f * x[r * n + j];
    y[r * n + j] = 2.0f * s;
  }
}

// The value before an element, and what remains of a row is stored after it.
// CHECK: before_{{s}}can(
// CHECK: before_{{s}}can_offsets(
// CHECK: if (threadIdx.x == 0)
// CHECK-NEXT: total[r] = s;
__global__ void before(float *y, float *total, const float *x, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0.25f;
  for (int j = 0; j < n; ++j) {
    y[r * n + j] = s;
    s += x[r * n + j];
  }
  total[r] = s;
}

__global__ void falling(float *y, const float *x, int n) {
  float s = 0.0f;
  for (int j = n - 1; j >= 0; --j) {
    s = fmaxf(s, x[j]);
    y[j] = s;
  }
}

// Integers keep every bit.
__global__ void upTo(int *y, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int s = 0;
  for (int j = 0; j <= i; ++j)
    s += x[j];
  y[i] = s;
}

// In a single pass, blocks look back at what the tiles before theirs say that they have.
// SINGLE: int most_{{s}}can_lookBack(unsigned long long *states, int number, int own) {
// SINGLE: while (state == 0)
// SINGLE-NEXT: state = atomicAdd(&states[last - lane], 0ull);
// SINGLE: most_{{s}}can(
// SINGLE: ticket = (int)atomicAdd(&states[gridDim.x], 1ull);
// SINGLE: void run(
// SINGLE: most_{{s}}can<<<
__global__ void most(int *y, const int *x, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  int s = -5;
  for (int j = 0; j < n; ++j) {
    s = max(s, x[r * n + j]);
    y[r * n + j] = s;
  }
}

__global__ void offsets(unsigned *y, unsigned *total, const int *x, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  unsigned s = 3;
  for (int j = 0; j < n; ++j) {
    y[r * n + j] = s;
    s += x[j];
  }
  total[r] = s;
}

// CHECK: void run(
// CHECK: n >= 32768) {
// CHECK-NEXT: sums_{{s}}can<<<(n + 4095) / 4096, 512>>>(a, x, n);
// CHECK-NEXT: sums_{{s}}can_offsets<<<1, 1024>>>(a, x, n);
// CHECK-NEXT: sums_{{s}}can_all<<<(n + 4095) / 4096, 512>>>(a, x, n);
// CHECK: sums_{{s}}can2<<<
void run(float *a, float *b, float *c, float *d, int *e, float *t, const float *x, const int *k, int *o, int n, int m) {
  sums<<<1, 1>>>(a, x, n);
  rowsOf<<<1, 32>>>(b, x, 3, m);
  before<<<1, 32>>>(c, t, x, 2, n);
  falling<<<1, 1>>>(d, x, n);
  upTo<<<(m + 127) / 128, 128>>>(e, k, m);
  most<<<1, 32>>>(o, k, 1, m);
  offsets<<<1, 32>>>((unsigned *)o + m, (unsigned *)o + 4 * m, k, 3, m);
}
