// RUN: kb-opt -passes=fuse-kernels-vertical --quiet --remarks-file=%t.yaml -o %t.cu %s
// RUN: diff %s %t.cu
// RUN: FileCheck %s < %t.yaml

__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

__global__ void smooth(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + x[i + 1];
}

__global__ void reverse(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[n - 1 - i];
}

__global__ void histogram(int *bins, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&bins[(int)x[i]], 1);
}

__global__ void product(float *c, const float *a, const float *b, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && column < n) {
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
      sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
  }
}

// CHECK: cannot run point by point: a point may store to an element that another point loads, of ''y''
void neighbours(float *y, float *t, const float *x, int n) {
  scale<<<(n + 255) / 256, 256>>>(t, x, 2.0f, n);
  smooth<<<(n + 255) / 256, 256>>>(y, t, n);
}

// CHECK: the second launch needs other elements of ''y'' than the first one stores at a point
void backwards(float *y, float *t, const float *x, int n) {
  scale<<<(n + 255) / 256, 256>>>(t, x, 2.0f, n);
  reverse<<<(n + 255) / 256, 256>>>(y, t, n);
}

// CHECK: what stands at line [[#@LINE+3]], after the launch at line [[#@LINE+2]], may need what that computes
void copies(float *y, float *t, const float *x, float *host, int n) {
  scale<<<(n + 255) / 256, 256>>>(t, x, 2.0f, n);
  cudaMemcpy(host, t, n * sizeof(float), cudaMemcpyDeviceToHost);
  scale<<<(n + 255) / 256, 256>>>(y, t, 3.0f, n);
}

// CHECK: the launches at line [[#@LINE+2]] and line [[#@LINE+3]] are on different streams
void streams(float *y, float *t, const float *x, int n, cudaStream_t a, cudaStream_t b) {
  scale<<<(n + 255) / 256, 256, 0, a>>>(t, x, 2.0f, n);
  scale<<<(n + 255) / 256, 256, 0, b>>>(y, t, 3.0f, n);
}

// CHECK: the second launch reads nothing that the first one stores
void others(float *y, float *t, const float *x, int n) {
  scale<<<(n + 255) / 256, 256>>>(t, x, 2.0f, n);
  scale<<<(n + 255) / 256, 256>>>(y, x, 3.0f, n);
}

// CHECK: the launches differ in how many elements of ''y'' they go over
void halves(float *y, float *t, const float *x) {
  scale<<<4, 256>>>(t, x, 2.0f, 1024);
  scale<<<2, 256>>>(y, t, 3.0f, 512);
}

// CHECK: what stands at line [[#@LINE+3]], after the launch at line [[#@LINE+2]], may need what that computes
void inBranches(float *y, float *t, const float *x, int n, bool again) {
  scale<<<(n + 255) / 256, 256>>>(t, x, 2.0f, n);
  if (again)
    scale<<<(n + 255) / 256, 256>>>(y, t, 3.0f, n);
}

// CHECK: how much of ''bins'' the kernel touches is not known
void counts(int *bins, float *t, const float *x, int n) {
  scale<<<(n + 255) / 256, 256>>>(t, x, 2.0f, n);
  histogram<<<(n + 255) / 256, 256>>>(bins, t, n);
}

// CHECK: each element of ''y'' is needed by many points of the second launch
void reused(float *c, float *t, const float *a, const float *b, int n) {
  scale<<<(n * n + 255) / 256, 256>>>(t, a, 2.0f, n * n);
  dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
  product<<<grid, block>>>(c, t, b, n);
}

// CHECK: ''a'' means different things in the two kernels
// CHECK: what the first launch stores is not computed anew for each use: it has loops or conditions
void twoProducts(float *y, float *t, const float *a, const float *b, int n) {
  dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
  product<<<grid, block>>>(t, a, b, n);
  product<<<grid, block>>>(y, t, b, n);
}

// A name that one kernel declares and the other one takes from the file, and a macro with two values.
__constant__ float a[4];
__global__ void weigh(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] * a[0];
}

#define STEP 2.0f
__global__ void forward(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + STEP;
}
#undef STEP
#define STEP 3.0f
__global__ void further(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] - STEP;
}

void names(float *y, float *t, const float *x, int n) {
  scale<<<(n + 255) / 256, 256>>>(t, x, 2.0f, n);
  weigh<<<(n + 255) / 256, 256>>>(y, t, n);
}

// CHECK: a macro changes between the definitions of the kernels
void macros(float *y, float *t, const float *x, int n) {
  forward<<<(n + 255) / 256, 256>>>(t, x, n);
  further<<<(n + 255) / 256, 256>>>(y, t, n);
}

// The first kernel stops where data says; the second one goes over all elements.
__global__ void copyUntil(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int j = 0; j < m; ++j) {
      y[i * m + j] = x[i * m + j];
      if (x[i * m + j] > 1.0f)
        break;
    }
}
__global__ void halve(float *y, int n, int m) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n * m)
    y[k] = 0.5f * y[k];
}
// CHECK: data decides how much of ''y'' the first launch stores
void untilLarge(float *y, const float *x, int n, int m) {
  copyUntil<<<(n + 63) / 64, 64>>>(y, x, n, m);
  halve<<<(n * m + 255) / 256, 256>>>(y, n, m);
}
