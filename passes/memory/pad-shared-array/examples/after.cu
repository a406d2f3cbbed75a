// A warp reads a column of the tile: 32 lanes, one bank.
#define TILE 32
__global__ void transpose(const float *x, float *y, int n) {
  __shared__ float tile[TILE][TILE + 1];
  int column = blockIdx.x * TILE + threadIdx.x;
  int row = blockIdx.y * TILE + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = x[row * n + column];
  __syncthreads();
  column = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  y[row * n + column] = tile[threadIdx.x][threadIdx.y];
}

void run(const float *x, float *y, int n) {
  transpose<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(x, y, n);
}
