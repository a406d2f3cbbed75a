#pragma once

// One pixel, brighter.
__device__ inline float scaled(float value, float gain) { return value * gain; }

// A kernel for every pixel type, launched by those who include it.
template <typename Pixel> __global__ void fillKernel(Pixel *out, int pixels, Pixel value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels)
    out[i] = value;
}
