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

constexpr int kWarps = 4;

// A warp takes a channel, 32 times at once. A step is average = keep * average + share * x; two of them are one step with
// keep squared, so that five shuffles give the averages of 32 times.
__global__ void __launch_bounds__(32 * kWarps)
    averageKernel(float *__restrict__ trend, const float *__restrict__ x, int channels, int times, float share) {
  int channel = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (channel >= channels)
    return;
  float keep = 1.0f - share, before = keep;
  for (int step = 0; step < lane; ++step)
    before *= keep;
  float last = 0.0f;
  float next = lane < times ? x[channel * times + lane] : 0.0f;
  for (int first = 0; first < times; first += 32) {
    int t = first + lane;
    float average = share * next;
    next = t + 32 < times ? x[channel * times + t + 32] : 0.0f;
    float factor = keep;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      float other = __shfl_up_sync(0xffffffffu, average, offset);
      if (lane >= offset)
        average += factor * other;
      factor *= factor;
    }
    average += before * last;
    if (t < times)
      trend[channel * times + t] = average;
    last = __shfl_sync(0xffffffffu, average, 31);
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
  averageKernel<<<(channels + kWarps - 1) / kWarps, 32 * kWarps>>>(trend, x, channels, times, 0.05f);
  aboveKernel<<<(n + 255) / 256, 256>>>(out, x, trend, n);
  limitKernel<<<(n + 255) / 256, 256>>>(out, n, 2.0f);
}
