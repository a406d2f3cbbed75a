// Rows and columns of a block that work together beside each other, and a reduction whose threads keep what they store.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// CHECK: kb.nest @{{.*}}rowSums{{.*}} dims ["row"] extents [{{.*}} : n>]{{.*}}requires [{{.*}} : bdim.x - 32>, {{.*}} : 32 - bdim.x>
// CHECK: kb.over "j" reduction extent <{{.*}} : m> team
// CHECK: kb.store <element <argument "y"{{.*}} : row>>
__global__ void rowSums(float *y, const float *x, int n, int m) {
  __shared__ float part[8][32];
  int row = blockIdx.x * blockDim.y + threadIdx.y, t = threadIdx.x;
  float sum = 0;
  if (row < n)
    for (int j = t; j < m; j += blockDim.x)
      sum += x[row * m + j];
  part[threadIdx.y][t] = sum;
  __syncthreads();
  for (int h = 16; h > 0; h >>= 1) {
    if (t < h)
      part[threadIdx.y][t] += part[threadIdx.y][t + h];
    __syncthreads();
  }
  if (t == 0 && row < n)
    y[row] = part[threadIdx.y][0];
}

// CHECK: kb.nest @{{.*}}columnSums{{.*}} dims ["col"] extents [{{.*}} : m>]{{.*}} : bdim.y - 8>, {{.*}} : 8 - bdim.y>
// CHECK: kb.over "i" reduction extent <{{.*}} : n> team
// CHECK: kb.store <element <argument "y"{{.*}} : col>>
__global__ void columnSums(float *y, const float *x, int n, int m) {
  __shared__ float part[8][33];
  int col = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  if (col < m)
    for (int i = threadIdx.y; i < n; i += 8)
      sum += x[i * m + col];
  part[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && col < m) {
    float all = 0;
    for (int k = 0; k < 8; ++k)
      all += part[k][threadIdx.x];
    y[col] = all;
  }
}

// CHECK: kb.nest @{{.*}}keptSum{{.*}} dims
// CHECK: kb.over "j" reduction extent <{{.*}} : m> team
// CHECK: kb.store <element <argument "y"{{.*}} "sum" []
__global__ void keptSum(float *y, const float *x, int m) {
  extern __shared__ float part[];
  int t = threadIdx.x;
  float sum = 0;
  for (int j = t; j < m; j += blockDim.x)
    sum += x[blockIdx.x * m + j];
  part[t] = sum;
  __syncthreads();
  for (int h = blockDim.x / 2; h > 0; h >>= 1) {
    if (t < h)
      part[t] = sum = sum + part[t + h];
    __syncthreads();
  }
  if (t == 0)
    y[blockIdx.x] = sum;
}

// What the threads keep is not what they have stored.
// CHECK: kb.unraised @{{.*}}otherSum
__global__ void otherSum(float *y, const float *x) {
  __shared__ float part[64];
  int t = threadIdx.x;
  float sum = x[blockIdx.x * 64 + t];
  part[t] = sum;
  sum = 1;
  __syncthreads();
  for (int h = 32; h > 0; h >>= 1) {
    if (t < h)
      part[t] = sum = sum + part[t + h];
    __syncthreads();
  }
  if (t == 0)
    y[blockIdx.x] = sum;
}

// The rows overlap.
// CHECK: kb.unraised @{{.*}}narrowRows
__global__ void narrowRows(float *y, const float *x, int m) {
  __shared__ float part[8 * 32];
  int row = blockIdx.x * blockDim.y + threadIdx.y, t = threadIdx.x;
  float sum = 0;
  for (int j = t; j < m; j += 32)
    sum += x[row * m + j];
  part[threadIdx.y * 16 + t] = sum;
  __syncthreads();
  for (int h = 16; h > 0; h >>= 1) {
    if (t < h)
      part[threadIdx.y * 16 + t] += part[threadIdx.y * 16 + t + h];
    __syncthreads();
  }
  if (t == 0)
    y[row] = part[threadIdx.y * 16];
}

// Rows read what other rows have summed.
// CHECK: kb.unraised @{{.*}}nextRow
__global__ void nextRow(float *y, const float *x, int m) {
  __shared__ float part[9][32];
  int row = blockIdx.x * 8 + threadIdx.y, t = threadIdx.x;
  float sum = 0;
  for (int j = t; j < m; j += 32)
    sum += x[row * m + j];
  part[threadIdx.y][t] = sum;
  __syncthreads();
  for (int h = 16; h > 0; h >>= 1) {
    if (t < h)
      part[threadIdx.y][t] += part[threadIdx.y][t + h];
    __syncthreads();
  }
  if (t == 0)
    y[row] = part[7 - threadIdx.y][0];
}

// 'scale' changes after it has been used.
// CHECK: kb.unraised @{{.*}}changedScale{{.*}} "'value' of each thread is formed from what changes before the threads combine it"
__global__ void changedScale(float *y, const float *x) {
  __shared__ float part[64];
  int t = threadIdx.x;
  float scale = 1.0f;
  float value = x[blockIdx.x * 64 + t] * scale;
  part[t] = value;
  scale = 3.0f;
  __syncthreads();
  for (int h = 32; h > 0; h /= 2) {
    if (t < h)
      part[t] += part[t + h];
    __syncthreads();
  }
  if (t == 0)
    y[blockIdx.x] = part[0] * scale;
}
