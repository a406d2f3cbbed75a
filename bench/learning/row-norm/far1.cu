// Group normalisation of half-precision images (N, C, H*W): a thread takes one group of channels of one image, and
// counts elements as it goes.
//
// kb-workload:
//   entry: groupNorm
//   sizes: {images: 64, groups: 32, perGroup: 4, pixels: 576}
//   test-sizes: [{images: 1, groups: 1, perGroup: 1, pixels: 1}, {images: 2, groups: 3, perGroup: 2, pixels: 25}, {images: 3, groups: 8, perGroup: 3, pixels: 16}]
//   unseen-sizes: [{images: 2, groups: 5, perGroup: 2, pixels: 21}]
//   tolerance: {relative: 1e-3, absolute: 1e-3}
//   parameters:
//     - {name: image, type: f16, shape: images*groups*perGroup*pixels, role: inout, init: normal}
//     - {name: weight, type: f32, shape: groups*perGroup, role: in, init: normal}
//     - {name: images, value: images}
//     - {name: groups, value: groups}
//     - {name: perGroup, value: perGroup}
//     - {name: pixels, value: pixels}
#include <cuda_fp16.h>

__global__ void groupNormKernel(__half *image, const float *weight, int images, int groups, int perGroup, int pixels) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= images * groups)
    return;
  int group = id % groups;
  __half *data = image + id * perGroup * pixels;
  float count = 0, mean = 0, m2 = 0;
  for (int c = 0; c < perGroup; ++c)
    for (int p = 0; p < pixels; ++p) {
      count += 1;
      float d = __half2float(data[c * pixels + p]) - mean;
      mean += d / count;
      m2 += d * (__half2float(data[c * pixels + p]) - mean);
    }
  float r = 1.0f / sqrtf(m2 / count + 1e-5f);
  for (int c = 0; c < perGroup; ++c)
    for (int p = 0; p < pixels; ++p)
      data[c * pixels + p] = __float2half((__half2float(data[c * pixels + p]) - mean) * r * weight[group * perGroup + c]);
}

void groupNorm(__half *image, const float *weight, int images, int groups, int perGroup, int pixels) {
  groupNormKernel<<<(images * groups + 63) / 64, 64>>>(image, weight, images, groups, perGroup, pixels);
}
