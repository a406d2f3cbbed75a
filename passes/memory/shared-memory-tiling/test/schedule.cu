// The rule sets keys of the schedule of a raised kernel; a kernel of another class keeps its text.
// RUN: kb-opt -passes='shared-memory-tiling{bm=64 bn=64 bk=16}' -o %t.cu %s 2>&1 | FileCheck %s
// CHECK: remark: added 'product_{{[a-z]+}}' ({{.*}}bk=16{{.*}}bm=64{{.*}}bn=64{{.*}}), launched at 1 place{{.*}} [shared-memory-tiling
// CHECK: remark: does not apply: {{.+}} [shared-memory-tiling, site 2]
// CHECK: remark: does not apply: {{.+}} [shared-memory-tiling
// RUN: grep -v '^ *//' %t.cu | FileCheck --check-prefix=TEXT %s
// TEXT: product_{{[a-z]+}}<<<
// TEXT-NEXT: else
// TEXT-NEXT: product<<<
// TEXT: {{^}}  scale<<<
// TEXT: {{^}}  chase<<<
__global__ void product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && col < n) {
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
      sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
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
  product<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(x, x + n * n, y, n);
  scale<<<(n + 255) / 256, 256>>>(y, x, 2.0f, n);
  chase<<<(n + 255) / 256, 256>>>(heads, next, n);
}
