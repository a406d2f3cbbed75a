// A convolution of halves with windows of 3 x 3 and a border of zeros, as one would first write it.
#include <cuda_fp16.h>

__global__ void conv3x3(half *y, const half *x, const half *w, int images, int channels, int height, int width, int filters) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= images * filters * height * width)
    return;
  int column = i % width, row = i / width % height, filter = i / (width * height) % filters, image = i / (width * height * filters);
  float sum = 0.0f;
  for (int c = 0; c < channels; ++c)
    for (int r = 0; r < 3; ++r)
      for (int s = 0; s < 3; ++s) {
        int v = row + r - 1, u = column + s - 1;
        if (v >= 0 && v < height && u >= 0 && u < width)
          sum += __half2float(x[((image * channels + c) * height + v) * width + u]) * __half2float(w[((filter * channels + c) * 3 + r) * 3 + s]);
      }
  y[i] = __float2half(sum);
}

void convolve(half *y, const half *x, const half *w, int images, int channels, int height, int width, int filters) {
  conv3x3<<<(images * filters * height * width + 255) / 256, 256>>>(y, x, w, images, channels, height, width, filters);
}
