// Every block loads the whole table before it looks up one tile of 128 values.
constexpr int kThreads = 128, kTable = 256;

__global__ void lookup(const float *table, const unsigned char *code, float *out, int n) {
  __shared__ float local[kTable];
  for (int i = threadIdx.x; i < kTable; i += kThreads)
    local[i] = table[i];
  __syncthreads();
  int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n)
    out[i] = local[code[i]];
}

void run(const float *table, const unsigned char *code, float *out, int n) {
  lookup<<<(n + kThreads - 1) / kThreads, kThreads>>>(table, code, out, n);
}
