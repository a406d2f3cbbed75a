// Without a model passes that need one are neither tried in a search nor reported by it.
// REQUIRES: sandbox
// RUN: kb-opt -passes=auto --trajectories=1 --steps=1 --journal=%t.sqlite --knowledge=%t.knowledge --remarks-file=%t.yaml -o %t.cu %s 2>%t.err
// RUN: FileCheck %s < %t.yaml
// CHECK: Pass: {{[a-z-]+}}
// RUN: not grep -e 'needs a model' -e invent -e tma-bulk-copy %t.yaml %t.err
//
// kb-workload:
//   entry: run
//   sizes: {n: 64}
//   parameters:
//     - {name: x, type: f32, shape: n, role: in}
//     - {name: y, type: f32, shape: n, role: out}
//     - {name: n, value: n}

__global__ void prefix(const float *x, float *y, int n) {
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) {
    sum += x[k];
    y[k] = sum;
  }
}

void run(const float *x, float *y, int n) { prefix<<<1, 1>>>(x, y, n); }
