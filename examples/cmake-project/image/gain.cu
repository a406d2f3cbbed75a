// Applies gain and gamma-like contrast to a grey image.
//
// kb-workload:
//   entry: applyGain
//   sizes: {pixels: 262144}
//   test-sizes: [{pixels: 1}, {pixels: 31}, {pixels: 128}]
//   unseen-sizes: [{pixels: 1261}]
//   parameters:
//     - {name: out, type: f32, shape: pixels, role: out}
//     - {name: in, type: f32, shape: pixels, role: in, init: "uniform(0, 1)"}
//     - {name: pixels, value: pixels}
//     - {name: gain, type: f32, value: 1.25}
#include "gain.h"
#include "pixel.cuh"

__global__ void gainKernel(float *out, const float *in, int pixels, float gain) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels) {
    float value = scaled(in[i], gain);
    out[i] = value / (value * value + 0.155f) * 1.019f;
  }
}

void applyGain(float *out, const float *in, int pixels, float gain) {
  gainKernel<<<(pixels + 63) / 64, 64>>>(out, in, pixels, gain);
}
