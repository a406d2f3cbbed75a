// Kernels with one defect each, and one without.
extern "C" __global__ void outOfBounds(const float *x, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    out[i] = x[i] * 2.f; // defect: out of bounds
}

extern "C" __global__ void sharedRace(int *out) {
  __shared__ int box[64];
  box[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = box[63 - threadIdx.x]; // defect: race
}

extern "C" __global__ void uninitialisedLocal(int *out, int n) {
  int local[16];
  for (int i = 0; i < n; ++i)
    local[i * 2 & 15] = i;
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += local[i & 15]; // defect: uninitialised
  out[0] = sum;
}

extern "C" __global__ void uninitialisedShared(float *out) {
  __shared__ float box[32];
  if (threadIdx.x < 31)
    box[threadIdx.x] = 1.f;
  __syncthreads();
  out[threadIdx.x] = box[threadIdx.x]; // defect: uninitialised shared
}

extern "C" __global__ void copies(const float4 *x, float4 *y, int stride) {
  __shared__ float tile[32][33];
  int i = threadIdx.x;
  float4 v = x[i * stride];
  tile[i][0] = v.x;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 8; ++k)
    sum += tile[k][0] * v.y;
  if (i & 1)
    sum += 1.f;
  v.x = sum;
  y[i] = v;
}

// Half of the block goes around a barrier that the others wait at, and ends later.
extern "C" __global__ void barrierSkipped(int *out, int rounds) {
  __shared__ int box[64];
  box[threadIdx.x] = threadIdx.x;
  __syncthreads();
  for (int s = 32, i = 0; i < rounds; s >>= 1, ++i)
    if (threadIdx.x < s) {
      box[threadIdx.x] += box[threadIdx.x + s];
      __syncthreads(); // defect: skipped barrier
    }
  if (threadIdx.x == 0)
    out[0] = box[0];
}

// The loop ends sooner for some threads of the block.
extern "C" __global__ void barrierLeft(int *out) {
  int sum = 0;
  for (int i = 0; i < threadIdx.x / 32 + 1; ++i) {
    sum += i;
    __syncthreads(); // defect: left loop
  }
  out[threadIdx.x] = sum;
}

// Common practice: threads without work return before the first barrier.
extern "C" __global__ void earlyReturn(int *out, int n) {
  __shared__ int box[64];
  box[threadIdx.x] = threadIdx.x;
  if (threadIdx.x >= n)
    return;
  __syncthreads();
  out[threadIdx.x] = box[n - 1 - threadIdx.x];
}

// All threads go around the barrier in the same turns.
extern "C" __global__ void barrierEverySecondTurn(int *out, int turns, int leave) {
  __shared__ int box[64];
  int sum = 0;
  for (int i = 0; i < turns; ++i) {
    if (i == leave && threadIdx.x >= 32)
      return;
    if (i % 2) {
      box[threadIdx.x] = i;
      __syncthreads();
      sum += box[threadIdx.x];
      __syncthreads();
    }
  }
  out[threadIdx.x] = sum;
}
