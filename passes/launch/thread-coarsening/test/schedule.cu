// The rule sets keys of the schedule of a raised kernel; a kernel of another class keeps its text.
// RUN: kb-opt -passes='thread-coarsening{inflight=2}' -o %t.cu %s 2>&1 | FileCheck %s
// CHECK: remark: added 'scale_{{[a-z]+}}' ({{.*}}inflight=2{{.*}}), launched at 1 place{{.*}} [thread-coarsening
// CHECK: remark: does not apply: {{.+}} [thread-coarsening
// RUN: grep -v '^ *//' %t.cu | FileCheck --check-prefix=TEXT %s
// TEXT: scale_{{[a-z]+}}<<<
// TEXT: {{^}}  chase<<<
__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

__global__ void chase(int *heads, const int *next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (i < n && i >= 0) {
    heads[i] = clock();
    i = next[i];
  }
}

void run(float *y, const float *x, int *heads, const int *next, int n) {
  scale<<<(n + 255) / 256, 256>>>(y, x, 2.0f, n);
  chase<<<(n + 255) / 256, 256>>>(heads, next, n);
}
