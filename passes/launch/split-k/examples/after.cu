// Eight blocks share each group of rows; a second kernel adds their sums in order.
constexpr int kSplits = 8;

__global__ void product(const float *a, const float *b, float *parts, int m, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int length = (k + kSplits - 1) / kSplits;
  int first = blockIdx.y * length, last = min(k, first + length);
  if (row < m) {
    float sum = 0.0f;
    for (int i = first; i < last; ++i)
      sum += a[i * m + row] * b[i];
    parts[blockIdx.y * m + row] = sum;
  }
}

__global__ void addParts(const float *parts, float *c, int m) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m) {
    float sum = 0.0f;
    for (int p = 0; p < kSplits; ++p)
      sum += parts[p * m + row];
    c[row] = sum;
  }
}

void run(const float *a, const float *b, float *c, int m, int k) {
  float *parts;
  cudaMalloc(&parts, sizeof(float) * kSplits * m);
  int blocks = (m + 127) / 128;
  product<<<dim3(blocks, kSplits), 128>>>(a, b, parts, m, k);
  addParts<<<blocks, 128>>>(parts, c, m);
  cudaFree(parts);
}
