// Median of 5 x 5 pixels. The window is sorted by insertion in an array of the thread; edges repeat the last pixel.
//
// kb-workload:
//   entry: median
//   sizes: {height: 480, width: 640}
//   test-sizes: [{height: 1, width: 1}, {height: 9, width: 33}, {height: 20, width: 45}]
//   unseen-sizes: [{height: 13, width: 27}]
//   parameters:
//     - {name: out, type: f32, shape: height*width, role: out}
//     - {name: in, type: f32, shape: height*width, role: in, init: uniform, values: [finite]}
//     - {name: height, value: height}
//     - {name: width, value: width}

__global__ void medianKernel(float *out, const float *in, int height, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  float window[25];
  int count = 0;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      int row = min(max(y + dy, 0), height - 1);
      int column = min(max(x + dx, 0), width - 1);
      float value = in[row * width + column];
      int at = count;
      while (at > 0 && window[at - 1] > value) {
        window[at] = window[at - 1];
        --at;
      }
      window[at] = value;
      ++count;
    }
  out[y * width + x] = window[12];
}

void median(float *out, const float *in, int height, int width) {
  dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
  medianKernel<<<grid, block>>>(out, in, height, width);
}
