// Transposes a matrix through a tile in shared memory.
//
//   transpose [width] [height]      (multiples of 32)
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int tile = 32;

__global__ void transpose(float *out, const float *in, int width, int height) {
  __shared__ float stage[tile][tile];
  int x = blockIdx.x * tile + threadIdx.x;
  int y = blockIdx.y * tile + threadIdx.y;
  for (int j = 0; j < tile; j += 8)
    stage[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * tile + threadIdx.x;
  y = blockIdx.x * tile + threadIdx.y;
  for (int j = 0; j < tile; j += 8)
    out[(y + j) * height + x] = stage[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char **argv) {
  int width = argc > 1 ? atoi(argv[1]) : 192;
  int height = argc > 2 ? atoi(argv[2]) : 128;
  if (width % tile || height % tile) {
    fprintf(stderr, "width and height must be multiples of %d\n", tile);
    return EXIT_FAILURE;
  }
  size_t bytes = sizeof(float) * width * height;
  std::vector<float> in(width * height), out(width * height);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i % 9973);
  float *dIn, *dOut;
  cudaMalloc(&dIn, bytes);
  cudaMalloc(&dOut, bytes);
  cudaMemcpy(dIn, in.data(), bytes, cudaMemcpyHostToDevice);
  transpose<<<dim3(width / tile, height / tile), dim3(tile, 8)>>>(dOut, dIn, width, height);
  cudaMemcpy(out.data(), dOut, bytes, cudaMemcpyDeviceToHost);
  if (cudaGetLastError() != cudaSuccess)
    return EXIT_FAILURE;
  int wrong = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      wrong += out[x * height + y] != in[y * width + x];
  printf("%d wrong elements: %s\n", wrong, wrong ? "FAIL" : "PASS");
  cudaFree(dIn);
  cudaFree(dOut);
  return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
