// Every thread forms the mean of its whole row again.
constexpr int kColumns = 512;

__global__ void center(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * kColumns) {
    int row = i / kColumns;
    float sum = 0.0f;
    for (int k = 0; k < kColumns; ++k)
      sum += x[row * kColumns + k];
    y[i] = x[i] - sum / kColumns;
  }
}

// The lanes of a warp share one 'row', so that neighbouring threads read neighbouring
// elements.
__global__ void __launch_bounds__(256)
    center_rows(float *__restrict__ y, const float *__restrict__ x, int n) {
  constexpr int lanes = 32, rows = 8, width = 4;
  const int lane = threadIdx.x;
  const int row = blockIdx.x * rows + threadIdx.y;
  if (row >= n)
    return;
  float sum = 0.0f;
  for (int first = lane * width; first < 512; first += lanes * width) {
    alignas(16) float xs[width];
    *reinterpret_cast<float4 *>(xs) =
        *reinterpret_cast<const float4 *>(&x[(size_t)row * 512 + first]);
#pragma unroll
    for (int e = 0; e < width; ++e)
      sum += xs[e];
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  for (int first = lane * width; first < 512; first += lanes * width) {
    alignas(16) float xs2[width];
    *reinterpret_cast<float4 *>(xs2) =
        *reinterpret_cast<const float4 *>(&x[first + (size_t)row * 512]);
    alignas(16) float ys[width];
#pragma unroll
    for (int e = 0; e < width; ++e)
      ys[e] = xs2[e] - sum / kColumns;
    *reinterpret_cast<float4 *>(&y[first + (size_t)row * 512]) =
        *reinterpret_cast<const float4 *>(ys);
  }
}

void run(float *y, const float *x, int n) {
  if (n > 0 && (x + (long long)n * 512 <= y || y + (long long)n * 512 <= x) &&
      ((size_t)x | (size_t)y) % 16 == 0)
    center_rows<<<(n + 7) / 8, dim3(32, 8)>>>(y, x, n);
  else
    center<<<(n * kColumns + 255) / 256, 256>>>(y, x, n);
}
