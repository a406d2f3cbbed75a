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
