// Every element is found by divisions in 64 bits, each a call of some eighty instructions.
__global__ void toChannelsLast(const float *in, float *out, long long images, long long channels, long long pixels) {
  long long count = images * channels * pixels, step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    long long channel = i % channels, pixel = i / channels % pixels, image = i / channels / pixels;
    out[i] = in[(image * channels + channel) * pixels + pixel];
  }
}

void run(const float *in, float *out, long long images, long long channels, long long pixels) {
  toChannelsLast<<<8, 128>>>(in, out, images, channels, pixels);
}
