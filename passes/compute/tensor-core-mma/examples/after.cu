#include <cuda_fp16.h>
#include <mma.h>

// Half operands, but every product is one multiply-add of the ordinary units.
constexpr int kTile = 16;

constexpr int kEdge = 32;          // results of a block, by 2 x 2 warps
constexpr int kPitchA = kTile + 8; // in halves: a multiple of 8, rows on other banks
constexpr int kPitchB = kEdge + 8;
constexpr int kPitchC = kEdge + 4; // in floats: a multiple of 4

__global__ void matmul(const __half *a, const __half *b, float *c, int m, int n, int k) {
  using namespace nvcuda;
  __shared__ __align__(32) __half tileA[kEdge * kPitchA];
  __shared__ __align__(32) __half tileB[kTile * kPitchB];
  __shared__ __align__(32) float tileC[kEdge * kPitchC];
  int row = blockIdx.y * kEdge, col = blockIdx.x * kEdge;
  int warpRow = threadIdx.x / 64 * kTile, warpCol = threadIdx.x / 32 % 2 * kTile;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int first = 0; first < k; first += kTile) {
    for (int i = threadIdx.x; i < kEdge * kTile; i += blockDim.x) {
      int r = i / kTile, x = i % kTile;
      bool ok = row + r < m && first + x < k;
      tileA[r * kPitchA + x] = ok ? a[(row + r) * k + first + x] : __float2half(0.0f);
    }
    for (int i = threadIdx.x; i < kTile * kEdge; i += blockDim.x) {
      int r = i / kEdge, x = i % kEdge;
      bool ok = first + r < k && col + x < n;
      tileB[r * kPitchB + x] = ok ? b[(first + r) * n + col + x] : __float2half(0.0f);
    }
    __syncthreads();
    // All 32 lanes, whatever the borders: what lies outside is zero.
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
    wmma::load_matrix_sync(left, tileA + warpRow * kPitchA, kPitchA);
    wmma::load_matrix_sync(right, tileB + warpCol, kPitchB);
    wmma::mma_sync(sum, left, right, sum);
    __syncthreads();
  }
  wmma::store_matrix_sync(tileC + warpRow * kPitchC + warpCol, sum, kPitchC, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < kEdge * kEdge; i += blockDim.x) {
    int r = i / kEdge, x = i % kEdge;
    if (row + r < m && col + x < n)
      c[(row + r) * n + col + x] = tileC[r * kPitchC + x];
  }
}

void run(const __half *a, const __half *b, float *c, int m, int n, int k) {
  dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  dim3 tiles((n + kEdge - 1) / kEdge, (m + kEdge - 1) / kEdge);
  matmul<<<tiles, 128>>>(a, b, c, m, n, k);
}
