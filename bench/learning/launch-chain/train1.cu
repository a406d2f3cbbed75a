// Detrends signals: an exponential moving average along time, what the signal has above it, and that within limits.
//
// kb-workload:
//   entry: detrend
//   sizes: {channels: 1024, times: 2048}
//   test-sizes: [{channels: 1, times: 1}, {channels: 9, times: 33}, {channels: 33, times: 100}]
//   unseen-sizes: [{channels: 37, times: 61}]
//   parameters:
//     - {name: out, type: f32, shape: channels*times, role: out}
//     - {name: trend, type: f32, shape: channels*times, role: out}
//     - {name: x, type: f32, shape: channels*times, role: in, init: normal, values: [finite]}
//     - {name: channels, value: channels}
//     - {name: times, value: times}

__global__ void averageKernel(float *trend, const float *x, int channels, int times, float share) {
  int channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= channels)
    return;
  float average = 0.0f;
  for (int t = 0; t < times; ++t) {
    average = (1.0f - share) * average + share * x[channel * times + t];
    trend[channel * times + t] = average;
  }
}

__global__ void aboveKernel(float *out, const float *x, const float *trend, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = x[i] - trend[i];
}

__global__ void limitKernel(float *out, int n, float limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = fminf(fmaxf(out[i], -limit), limit);
}

void detrend(float *out, float *trend, const float *x, int channels, int times) {
  int n = channels * times;
  averageKernel<<<(channels + 127) / 128, 128>>>(trend, x, channels, times, 0.05f);
  aboveKernel<<<(n + 255) / 256, 256>>>(out, x, trend, n);
  limitKernel<<<(n + 255) / 256, 256>>>(out, n, 2.0f);
}
