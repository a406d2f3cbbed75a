// Loops that carry a value and are no scans, each with its reason.
// RUN: kb-opt -passes='schedule{as=scan}' -o %t.cu %s 2>&1 | FileCheck %s
// RUN: diff %s %t.cu

// CHECK: [[#@LINE+1]]:17: remark: does not apply: 's', which its loop carries, is more than a sum, product or extreme
__global__ void recurrence(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0;
  for (int j = 0; j < n; ++j) {
    s = 0.5f * s + x[r * n + j];
    y[r * n + j] = s;
  }
}

// CHECK: [[#@LINE+1]]:17: remark: does not apply: a term depends on the value so far
__global__ void depends(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0;
  for (int j = 0; j < n; ++j) {
    float step = s > 1.0f ? x[r * n + j] : 1.0f;
    s += step;
    y[r * n + j] = s;
  }
}

// CHECK: [[#@LINE+1]]:17: remark: does not apply: neighbours along 'j' do not lie together
__global__ void shared(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0;
  for (int j = 0; j < n; ++j) {
    s += x[r * n + j];
    y[r * n + j / 2] = s;
  }
}

// CHECK: [[#@LINE+1]]:17: remark: does not apply: elements of a row may share what they store to 'y'
__global__ void readsNext(float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0;
  for (int j = 0; j < n; ++j) {
    s += y[r * (n + 1) + j + 1];
    y[r * (n + 1) + j] = s;
  }
}

// CHECK: [[#@LINE+1]]:17: remark: does not apply: neighbours along 'j' do not lie together
__global__ void columns(const float *x, float *y, int rows, int n) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n)
    return;
  float s = 0;
  for (int j = 0; j < rows; ++j) {
    s += x[j * n + c];
    y[j * n + c] = s;
  }
}

// CHECK: [[#@LINE+1]]:17: remark: does not apply: no loop carries a value from one element to the next
__global__ void doubled(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  for (int j = 0; j < n; ++j)
    y[r * n + j] = 2 * x[r * n + j];
}

// CHECK: [[#@LINE+1]]:17: remark: does not apply: its sums are not over what comes before an element
__global__ void rowSum(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0;
  for (int j = 0; j < n; ++j)
    s += x[r * n + j];
  y[r] = s;
}

// CHECK: [[#@LINE+1]]:17: remark: does not apply: the terms of its sums differ from element to element
__global__ void differs(const float *x, const float *w, float *y, int rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * n)
    return;
  int r = i / n, c = i % n;
  float s = 0;
  for (int j = 0; j <= c; ++j)
    s += x[r * n + j] * w[c - j];
  y[i] = s;
}

// CHECK: [[#@LINE+1]]:17: remark: does not apply: it has atomics
__global__ void adds(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0;
  for (int j = 0; j < n; ++j) {
    s += x[r * n + j];
    atomicAdd(&y[j], s);
  }
}

void run(const float *x, const float *w, float *y, int rows, int n) {
  recurrence<<<(rows + 127) / 128, 128>>>(x, y, rows, n);
  depends<<<(rows + 127) / 128, 128>>>(x, y, rows, n);
  shared<<<(rows + 127) / 128, 128>>>(x, y, rows, n);
  readsNext<<<(rows + 127) / 128, 128>>>(y, rows, n);
  columns<<<(n + 127) / 128, 128>>>(x, y, rows, n);
  doubled<<<(rows + 127) / 128, 128>>>(x, y, rows, n);
  rowSum<<<(rows + 127) / 128, 128>>>(x, y, rows, n);
  differs<<<(rows * n + 127) / 128, 128>>>(x, w, y, rows, n);
  adds<<<(rows + 127) / 128, 128>>>(x, y, rows, n);
}
