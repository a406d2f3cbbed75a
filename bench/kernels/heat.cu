// Stencil: one explicit step of the heat equation; threadIdx.x walks down the rows.
//
// kb-workload:
//   entry: heatStep
//   sizes: {height: 1024, width: 1024}
//   test-sizes: [{height: 3, width: 3}, {height: 33, width: 31}, {height: 16, width: 70}]
//   unseen-sizes: [{height: 29, width: 41}]
//   parameters:
//     - {name: next, type: f32, shape: height*width, role: out}
//     - {name: now, type: f32, shape: height*width, role: in, init: "uniform(0, 1)"}
//     - {name: height, value: height}
//     - {name: width, value: width}

__global__ void heatKernel(float *next, const float *now, int height, int width) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  int x = blockIdx.y * blockDim.y + threadIdx.y;
  if (y >= height || x >= width)
    return;
  float here = now[y * width + x];
  float up = y > 0 ? now[(y - 1) * width + x] : here;
  float down = y < height - 1 ? now[(y + 1) * width + x] : here;
  float left = x > 0 ? now[y * width + x - 1] : here;
  float right = x < width - 1 ? now[y * width + x + 1] : here;
  next[y * width + x] = here + 0.2 * (up + down + left + right - 4.0 * here);
}

void heatStep(float *next, const float *now, int height, int width) {
  dim3 block(16, 16), grid((height + 15) / 16, (width + 15) / 16);
  heatKernel<<<grid, block>>>(next, now, height, width);
}
