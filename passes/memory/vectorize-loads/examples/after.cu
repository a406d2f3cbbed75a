__global__ void saxpy(float a, const float *__restrict__ x, float *__restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  {
    const bool aligned = (reinterpret_cast<size_t>(y) | reinterpret_cast<size_t>(x)) % 16 == 0;
    const auto vectors = aligned ? n / 4 : 0;
    if (i < vectors) {
      const int first = i * 4;
      alignas(16) float ys[4];
      *reinterpret_cast<float4 *>(ys) = *reinterpret_cast<const float4 *>(&y[first]);
      alignas(16) float xs[4];
      *reinterpret_cast<float4 *>(xs) = *reinterpret_cast<const float4 *>(&x[first]);
#pragma unroll
      for (int lane = 0; lane < 4; ++lane) {
        ys[lane] = a * xs[lane] + ys[lane];
      }
      *reinterpret_cast<float4 *>(&y[first]) = *reinterpret_cast<const float4 *>(ys);
    }
    for (long long rest = vectors * 4LL + i; rest < n; rest += gridDim.x * blockDim.x) {
      const int i = rest;
      y[i] = a * x[i] + y[i];
    }
  }
}

void run(float a, const float *x, float *y, int n) {
  saxpy<<<((n + 255) / 256 + 3) / 4, 256>>>(a, x, y, n);
}
