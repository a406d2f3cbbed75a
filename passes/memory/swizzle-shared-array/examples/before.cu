// The column of the tile that a warp reads lies in one bank.
__global__ void transpose(const float *in, float *out, int n) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < n && y + j < n)
      tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < n && y + j < n)
      out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

void run(const float *in, float *out, int n) {
  dim3 grid((n + 31) / 32, (n + 31) / 32);
  transpose<<<grid, dim3(32, 8)>>>(in, out, n);
}
