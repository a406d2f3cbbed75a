// Batch normalisation in three launches: mean of each feature, its variance, and the scaled values after a ReLU.
//
// kb-workload:
//   entry: batchNorm
//   sizes: {samples: 8192, features: 256}
//   test-sizes: [{samples: 1, features: 1}, {samples: 33, features: 9}, {samples: 100, features: 33}]
//   unseen-sizes: [{samples: 61, features: 37}]
//   parameters:
//     - {name: y, type: f32, shape: samples*features, role: out}
//     - {name: mean, type: f32, shape: features, role: out}
//     - {name: variance, type: f32, shape: features, role: out}
//     - {name: x, type: f32, shape: samples*features, role: in, init: normal}
//     - {name: samples, value: samples}
//     - {name: features, value: features}

constexpr int kFeatures = 8;
constexpr int kRows = 128;

// A block takes eight features, which are one sector of each sample, and adds up twice: for the mean and for the variance.
__global__ void __launch_bounds__(kFeatures * kRows)
    momentsKernel(float *__restrict__ mean, float *__restrict__ variance, const float *__restrict__ x, int samples,
                  int features) {
  __shared__ float part[kRows][kFeatures];
  int u = threadIdx.x, v = threadIdx.y;
  int feature = blockIdx.x * kFeatures + u;
  float average = 0.0f;
  for (int pass = 0; pass < 2; ++pass) {
    float sum = 0.0f;
    if (feature < features) {
#pragma unroll 4
      for (int s = v; s < samples; s += kRows) {
        float value = x[s * features + feature] - average;
        sum += pass == 0 ? value : value * value;
      }
    }
    part[v][u] = sum;
    __syncthreads();
    for (int half = kRows / 2; half > 0; half /= 2) {
      if (v < half)
        part[v][u] += part[v + half][u];
      __syncthreads();
    }
    float result = part[0][u] / samples;
    __syncthreads();
    if (v == 0 && feature < features)
      (pass == 0 ? mean : variance)[feature] = result;
    average = result;
  }
}

__global__ void applyKernel(float *y, const float *x, const float *mean, const float *variance, int samples,
                            int features) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= samples * features)
    return;
  int feature = i % features;
  y[i] = fmaxf((x[i] - mean[feature]) / sqrtf(variance[feature] + 1e-5f), 0.0f);
}

void batchNorm(float *y, float *mean, float *variance, const float *x, int samples, int features) {
  momentsKernel<<<(features + kFeatures - 1) / kFeatures, dim3(kFeatures, kRows)>>>(mean, variance, x, samples,
                                                                                    features);
  applyKernel<<<(samples * features + 255) / 256, 256>>>(y, x, mean, variance, samples, features);
}
