// 'toChannelsLast' for indices that fit 31 bits.
__global__ void toChannelsLastNarrow(const float *in, float *out, int images, int channels,
                                     int pixels) {
  int count = images * channels * pixels, step = (int)gridDim.x * blockDim.x;
  for (int i = (int)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    int channel = i % channels, pixel = i / channels % pixels, image = i / channels / pixels;
    out[i] = in[(image * channels + channel) * pixels + pixel];
  }
}

// Every element is found by divisions in 64 bits, each a call of some eighty instructions.
__global__ void toChannelsLast(const float *in, float *out, long long images, long long channels, long long pixels) {
  long long count = images * channels * pixels, step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    long long channel = i % channels, pixel = i / channels % pixels, image = i / channels / pixels;
    out[i] = in[(image * channels + channel) * pixels + pixel];
  }
}

void run(const float *in, float *out, long long images, long long channels, long long pixels) {
  if (channels > 0 && images > 0 && pixels > 0 &&
      (double)channels * images * pixels + 2048.0 <= 2147483647.0 &&
      (double)pixels + (double)channels * pixels + (double)channels * images * pixels <=
          2147483647.0 &&
      (double)channels * images + (double)channels <= 2147483647.0)
    toChannelsLastNarrow<<<8, 128>>>(in, out, images, channels, pixels);
  else
    toChannelsLast<<<8, 128>>>(in, out, images, channels, pixels);
}
