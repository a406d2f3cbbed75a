// The same as row_norm.cu in other words, with another launch: what was done there can be done here.
//
// kb-workload:
//   entry: scaleSamples
//   sizes: {samples: 2048, features: 96}
//   test-sizes: [{samples: 1, features: 1}, {samples: 9, features: 33}, {samples: 33, features: 100}]
//   unseen-sizes: [{samples: 37, features: 61}]
//   parameters:
//     - {name: in, type: f32, shape: samples*features, role: in, init: normal}
//     - {name: out, type: f32, shape: samples*features, role: out}
//     - {name: features, value: features}
//     - {name: samples, value: samples}

__global__ void scaleSamplesKernel(const float *in, float *out, int features, int samples) {
  int sample = threadIdx.x + blockDim.x * blockIdx.x;
  if (samples <= sample)
    return;
  float energy = 0.0f;
  for (int f = 0; f < features; f++)
    energy += in[f + sample * features] * in[sample * features + f];
  float factor = 1.0f / sqrtf(1e-6f + energy / features);
  for (int f = 0; f < features; f++)
    out[sample * features + f] = factor * in[sample * features + f];
}

void scaleSamples(const float *in, float *out, int features, int samples) {
  scaleSamplesKernel<<<(samples + 255) / 256, 256>>>(in, out, features, samples);
}
