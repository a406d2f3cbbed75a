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

__global__ void meanKernel(float *mean, const float *x, int samples, int features) {
  int feature = blockIdx.x * blockDim.x + threadIdx.x;
  if (feature >= features)
    return;
  float sum = 0.0f;
  for (int s = 0; s < samples; ++s)
    sum += x[s * features + feature];
  mean[feature] = sum / samples;
}

__global__ void varianceKernel(float *variance, const float *mean, const float *x, int samples, int features) {
  int feature = blockIdx.x * blockDim.x + threadIdx.x;
  if (feature >= features)
    return;
  float sum = 0.0f;
  for (int s = 0; s < samples; ++s) {
    float difference = x[s * features + feature] - mean[feature];
    sum += difference * difference;
  }
  variance[feature] = sum / samples;
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
  meanKernel<<<(features + 127) / 128, 128>>>(mean, x, samples, features);
  varianceKernel<<<(features + 127) / 128, 128>>>(variance, mean, x, samples, features);
  applyKernel<<<(samples * features + 255) / 256, 256>>>(y, x, mean, variance, samples, features);
}
