// An array that is padded already has no conflicts.
// RUN: kb-opt -passes=pad-shared-array --quiet -o %t %s
// RUN: diff %s %t
__global__ void transpose(const float *x, float *y) {
  __shared__ float tile[32][33];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  y[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

void run(const float *x, float *y) { transpose<<<1, dim3(32, 32)>>>(x, y); }
