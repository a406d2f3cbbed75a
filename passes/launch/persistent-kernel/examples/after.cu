// Every block loads the whole table before it looks up one tile of 128 values.
constexpr int kThreads = 128, kTable = 256;

__global__ void lookup(const float *table, const unsigned char *code, float *out, int n) {
  __shared__ float local[kTable];
  for (int i = threadIdx.x; i < kTable; i += kThreads)
    local[i] = table[i];
  __syncthreads();
  // The table is only read from here on: no barrier between tiles. Tiles with the grid's stride:
  // neighbours run at the same time.
  int tiles = (n + kThreads - 1) / kThreads;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    int i = tile * kThreads + threadIdx.x;
    if (i < n)
      out[i] = local[code[i]];
  }
}

void run(const float *table, const unsigned char *code, float *out, int n) {
  int device = 0, sms = 1, tiles = (n + kThreads - 1) / kThreads;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  int resident = 2 * sms;
  lookup<<<tiles < resident ? tiles : resident, kThreads>>>(table, code, out, n);
}
