#include <cuda_fp16.h>

// Half operands, but every product is one multiply-add of the ordinary units.
constexpr int kTile = 16;

__global__ void matmul(const __half *a, const __half *b, float *c, int m, int n, int k) {
  __shared__ __half tileA[kTile][kTile], tileB[kTile][kTile];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  for (int first = 0; first < k; first += kTile) {
    tileA[ty][tx] = row < m && first + tx < k ? a[row * k + first + tx] : __float2half(0.0f);
    tileB[ty][tx] = first + ty < k && col < n ? b[(first + ty) * n + col] : __float2half(0.0f);
    __syncthreads();
    for (int i = 0; i < kTile; ++i)
      sum += __half2float(tileA[ty][i]) * __half2float(tileB[i][tx]);
    __syncthreads();
  }
  if (row < m && col < n)
    c[row * n + col] = sum;
}

void run(const __half *a, const __half *b, float *c, int m, int n, int k) {
  dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  matmul<<<grid, block>>>(a, b, c, m, n, k);
}
