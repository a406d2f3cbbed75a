// The rule sets keys of the schedule of a raised kernel; a kernel of another class keeps its text.
// RUN: kb-opt -passes='cache-row{cache=registers}' -o %t.cu %s 2>&1 | FileCheck %s
// CHECK: remark: added 'normalize_{{[a-z]+}}' ({{.*}}cache=registers{{.*}}), launched at 1 place{{.*}} [cache-row
// CHECK: remark: does not apply: {{.+}} [cache-row, site 2]
// CHECK: remark: does not apply: {{.+}} [cache-row
// RUN: grep -v '^ *//' %t.cu | FileCheck --check-prefix=TEXT %s
// TEXT: normalize_{{[a-z]+}}<<<
// TEXT-NEXT: else
// TEXT-NEXT: normalize<<<
// TEXT: {{^}}  scale<<<
// TEXT: {{^}}  chase<<<
__global__ void normalize(float *__restrict__ y, const float *__restrict__ x, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
      sum += x[row * n + k];
    for (int k = 0; k < n; ++k)
      y[row * n + k] = x[row * n + k] / sum;
  }
}

__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

__global__ void chase(int *heads, const int *next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (i < n && i >= 0) {
    heads[i] = i;
    i = next[i];
  }
}

void run(float *y, const float *x, int *heads, const int *next, int n) {
  normalize<<<(n + 63) / 64, 64>>>(y, x, n, n);
  scale<<<(n + 255) / 256, 256>>>(y, x, 2.0f, n);
  chase<<<(n + 255) / 256, 256>>>(heads, next, n);
}
