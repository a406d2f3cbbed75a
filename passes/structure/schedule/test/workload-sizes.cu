// Without a run the workload says which sizes a launch has, also through functions of the host.
// RUN: kb-opt -passes='schedule{kernel=product},schedule{kernel=total}' -o %t.cu %s 2>&1 | FileCheck --check-prefix=SIZES %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt --emit=schedules %s 2>&1 | FileCheck --check-prefix=ALL %s
// The pipeline that is printed does the same without the workload.
// RUN: cp %s %t.given.cu && kb-opt -passes=schedule --print-pipeline -o %t.with.cu %t.given.cu 2>&1 | grep '^schedule' > %t.pipeline
// RUN: sed '/kb-workload:/,/value: k/d' %t.with.cu > %t.expected.cu
// RUN: sed '/kb-workload:/,/value: k/d' %s > %t.alone.cu
// RUN: sh -c 'kb-opt --quiet -passes="$(cat %t.pipeline)" -o %t.again.cu %t.alone.cu'
// RUN: diff %t.expected.cu %t.again.cu
// A sum of 32768 terms for each of few outputs is formed in parts; a launch of other sizes runs what is given.
// SIZES: added 'product{{_}}{{tiled|columns}}', 'product{{_}}end' ({{.*}} parts=
// SIZES-SAME: where its conditions hold; modelled
// SIZES: added 'total{{_}}rows', 'total{{_}}end' ({{.*}} parts=
// ALL: kernel 'product'
// ALL-NEXT: nest:
// ALL-NEXT: modelled {{.*}} parts=
// ALL: kernel 'scale'
// ALL-NEXT: nest:
// ALL-NEXT: modelled {{.*}} map
// ALL: kernel 'elsewhere'
// ALL-NEXT: not modelled
// JUDGED: {{^}}correct
// CHECK: product<<<

// A workload that cannot be read is an error where it is named, and else a warning.
// RUN: sed 's/role: in,/role: on,/' %s > %t.bad.cu
// RUN: kb-opt -passes=schedule -o /dev/null %t.bad.cu 2>&1 | FileCheck --check-prefix=WARNED %s
// RUN: echo 'entry: 7:' > %t.yaml
// RUN: not kb-opt -passes=schedule --workload=%t.yaml -o /dev/null %s 2>&1 | FileCheck --check-prefix=NAMED -DFILE=%t.yaml %s
// WARNED: warning: {{.*}}.bad.cu:{{[0-9]+}}:{{[0-9]+}}: {{.*}}'on'{{.*}}; schedules are put in order without its sizes
// WARNED: added 'product
// NAMED: error: [[FILE]]:1:

// kb-workload:
//   entry: tools::run
//   sizes: {m: 24, n: 40, k: 32768}
//   test-sizes: [{m: 3, n: 5, k: 128}]
//   parameters:
//     - {name: c, type: f32, shape: [m, n], role: out}
//     - {name: a, type: f32, shape: [m, k], role: in, init: normal}
//     - {name: b, type: f32, shape: [k, n], role: in, init: normal}
//     - {name: m, value: m}
//     - {name: n, value: n}
//     - {name: k, value: k}
#include <algorithm>

__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m && col < n) {
    float sum = 0;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
  }
}

__global__ void scale(float *c, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    c[i] *= 0.5f;
}

// The loops over an image are one.
__global__ void total(float *c, const float *a, int h, int w) {
  float sum = 0;
  for (int i = 0; i < h; ++i)
    for (int j = 0; j < w; ++j)
      sum += a[i * w + j];
  c[threadIdx.x] += sum;
}

// No call of the workload's leads here.
__global__ void elsewhere(float *c, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    c[i] *= 0.5f;
}

static int blocks(int count, int block) { return (count + block - 1) / block; }

static void launch(float *c, const float *a, const float *b, const int rows, int columns, int depth) {
  const dim3 block(16, 16), grid(blocks(columns, 16), blocks(rows, 16));
  product<<<grid, block>>>(c, a, b, rows, columns, depth);
  const int count = std::min(rows * columns, 1 << 20);
  scale<<<blocks(count, 128), 128>>>(c, count > 4 ? count : 4);
}

void other(float *c, int count) { elsewhere<<<blocks(count, 128), 128>>>(c, count); }

namespace tools {
void run(float *c, const float *a, const float *b, int m, int n, int k) {
  launch(c, a, b, m, n, k);
  total<<<1, 1>>>(c, a, m, k);
}
} // namespace tools
