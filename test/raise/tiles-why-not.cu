// Tiles of which it is not certain what is read.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

#define START                                                                                                          \
  __shared__ float as[16][16], bs[16][16];                                                                             \
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;                      \
  float sum = 0.0f;

// CHECK: kb.unraised @_Z12noFirstFence{{.*}} "'as' is read without a barrier after it was filled"
__global__ void noFirstFence(const float *a, const float *b, float *c, int n) {
  START
  for (int t = 0; t < n; t += 16) {
    as[ty][tx] = a[row * n + t + tx];
    bs[ty][tx] = b[(t + ty) * n + col];
    for (int i = 0; i < 16; ++i)
      sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// CHECK: kb.unraised @_Z11noLastFence{{.*}} "'as' is filled again without a barrier after it was read"
__global__ void noLastFence(const float *a, const float *b, float *c, int n) {
  START
  for (int t = 0; t < n; t += 16) {
    as[ty][tx] = a[row * n + t + tx];
    bs[ty][tx] = b[(t + ty) * n + col];
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += as[ty][i] * bs[i][tx];
  }
  c[row * n + col] = sum;
}

// CHECK: kb.unraised @_Z8tooEarly{{.*}} "'as' is read before it is filled"
__global__ void tooEarly(const float *a, const float *b, float *c, int n) {
  START
  for (int t = 0; t < n; t += 16) {
    bs[ty][tx] = b[(t + ty) * n + col];
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += as[ty][i] * bs[i][tx];
    __syncthreads();
    as[ty][tx] = a[row * n + t + tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// The edge keeps what the tile before has left there.
// CHECK: kb.unraised @_Z8openEdge{{.*}} "'as' is read where no thread may have filled it"
__global__ void openEdge(const float *a, const float *b, float *c, int n, int k) {
  START
  for (int t = 0; t < k; t += 16) {
    if (row < n && t + tx < k)
      as[ty][tx] = a[row * k + t + tx];
    bs[ty][tx] = t + ty < k ? b[(t + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < n && col < n)
    c[row * n + col] = sum;
}

// Half of the tile.
// CHECK: kb.unraised @_Z4half{{.*}} "'as' is read where no thread may have filled it"
__global__ void half(const float *a, float *c, int n) {
  __shared__ float as[16][32];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty;
  float sum = 0.0f;
  for (int t = 0; t < n; t += 32) {
    as[ty][tx] = a[row * n + t + tx];
    __syncthreads();
    for (int i = 0; i < 32; ++i)
      sum += as[ty][i];
    __syncthreads();
  }
  c[row * n + blockIdx.x * 16 + tx] = sum;
}

// What is copied changes meanwhile.
// CHECK: kb.unraised @_Z7inPlace{{.*}} "'as' keeps elements of 'c', which the kernel changes"
__global__ void inPlace(float *c, int n) {
  __shared__ float as[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  as[ty][tx] = c[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx];
  __syncthreads();
  c[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = as[tx][ty];
}

// Several threads store to one element.
// CHECK: kb.unraised @_Z4race{{.*}} "several threads fill the same element of 'as'"
__global__ void race(const float *a, float *c, int n) {
  __shared__ float as[16];
  int tx = threadIdx.x, ty = threadIdx.y;
  as[tx] = a[ty * n + tx];
  __syncthreads();
  c[(blockIdx.x * 16 + ty) * n + tx] = as[15 - tx];
}

// Some threads have left.
// CHECK: kb.unraised @_Z4left{{.*}} "threads of a block wait for each other where some of them may not be"
__global__ void left(const float *a, const float *b, float *c, int n) {
  START
  if (row >= n || col >= n)
    return;
  for (int t = 0; t < n; t += 16) {
    as[ty][tx] = a[row * n + t + tx];
    bs[ty][tx] = b[(t + ty) * n + col];
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// A barrier of warps is none for the block.
// CHECK: kb.unraised @_Z8warpOnly{{.*}} "'as' is read without a barrier after it was filled"
__global__ void warpOnly(const float *a, float *c, int n) {
  __shared__ float as[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  as[ty][tx] = a[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx];
  __syncwarp();
  c[(blockIdx.x * 16 + ty) * n + blockIdx.y * 16 + tx] = as[tx][ty];
}

void run(const float *a, const float *b, float *c, int n) {
  dim3 block(16, 16), grid(n / 16, n / 16);
  noFirstFence<<<grid, block>>>(a, b, c, n);
  noLastFence<<<grid, block>>>(a, b, c, n);
  tooEarly<<<grid, block>>>(a, b, c, n);
  openEdge<<<grid, block>>>(a, b, c, n, n);
  half<<<grid, block>>>(a, c, n);
  inPlace<<<grid, block>>>(c, n);
  race<<<grid, block>>>(a, c, n);
  left<<<grid, block>>>(a, b, c, n);
  warpOnly<<<grid, block>>>(a, c, n);
}
