// Index holds every index, and the one beyond the end by which a thread leaves the loop.
template <typename Index>
__device__ __forceinline__ void permute(const float *in, float *out, Index images, Index channels,
                                        Index pixels) {
  Index count = images * channels * pixels, step = (Index)gridDim.x * blockDim.x;
  for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    Index channel = i % channels, pixel = i / channels % pixels, image = i / channels / pixels;
    out[i] = in[(image * channels + channel) * pixels + pixel];
  }
}

__global__ void toChannelsLastNarrow(const float *in, float *out, int images, int channels,
                                     int pixels) {
  permute<int>(in, out, images, channels, pixels);
}

// Every element is found by divisions in 64 bits, each a call of some eighty instructions.
__global__ void toChannelsLast(const float *in, float *out, long long images, long long channels, long long pixels) {
  permute<long long>(in, out, images, channels, pixels);
}

void run(const float *in, float *out, long long images, long long channels, long long pixels) {
  constexpr long long kBlocks = 8, kThreads = 128;
  // Divided, not multiplied: the product itself may be too large.
  long long most = (1LL << 31) - 1 - kBlocks * kThreads;
  bool narrow = images >= 0 && channels > 0 && pixels > 0 && channels <= most &&
                pixels <= most / channels && images <= most / (channels * pixels);
  if (narrow)
    toChannelsLastNarrow<<<kBlocks, kThreads>>>(in, out, (int)images, (int)channels, (int)pixels);
  else
    toChannelsLast<<<kBlocks, kThreads>>>(in, out, images, channels, pixels);
}
