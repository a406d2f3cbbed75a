// Two tiles are on their way while a third is in use. Copies of 4 bytes need no more than a float's alignment.
#include <cuda_pipeline.h>
constexpr int kTile = 16;

constexpr int kStages = 3;

// Starts the copy of one element; outside of the matrix nothing is read, and the element becomes zero.
__device__ void copyElement(float *to, const float *matrix, int row, int column, int n) {
  bool inside = row < n && column < n;
  __pipeline_memcpy_async(to, inside ? matrix + row * n + column : matrix, 4, inside ? 0 : 4);
}

__global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float tileA[kStages][kTile][kTile], tileB[kStages][kTile][kTile];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  for (int s = 0; s < kStages - 1; ++s) {
    if (s * kTile < n) {
      copyElement(&tileA[s][ty][tx], a, row, s * kTile + tx, n);
      copyElement(&tileB[s][ty][tx], b, s * kTile + ty, col, n);
    }
    __pipeline_commit(); // also where nothing was copied: waits count commits
  }
  float sum = 0.0f;
  int stage = 0, refill = kStages - 1;
  for (int first = 0; first < n; first += kTile) {
    __pipeline_wait_prior(kStages - 2); // this thread's part has arrived
    __syncthreads();                    // everybody's has, and the stage to refill is no longer read
    int ahead = first + (kStages - 1) * kTile;
    if (ahead < n) {
      copyElement(&tileA[refill][ty][tx], a, row, ahead + tx, n);
      copyElement(&tileB[refill][ty][tx], b, ahead + ty, col, n);
    }
    __pipeline_commit();
    for (int k = 0; k < kTile; ++k)
      sum += tileA[stage][ty][k] * tileB[stage][k][tx];
    refill = stage;
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }
  if (row < n && col < n)
    c[row * n + col] = sum;
}

void run(const float *a, const float *b, float *c, int n) {
  dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
  matmul<<<grid, block>>>(a, b, c, n);
}
