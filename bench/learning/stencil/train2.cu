// Takes the local background away: each pixel less the mean of the pixels at most `radius` away in each direction. The
// window ends at the edges of the image.
//
// kb-workload:
//   entry: flatten
//   sizes: {height: 480, width: 640, radius: 7}
//   test-sizes: [{height: 1, width: 1, radius: 1}, {height: 9, width: 33, radius: 2}, {height: 40, width: 45, radius: 5}]
//   unseen-sizes: [{height: 23, width: 37, radius: 3}]
//   admissible:
//     radius: {minimum: 0, maximum: 40}
//   parameters:
//     - {name: out, type: f32, shape: height*width, role: out}
//     - {name: in, type: f32, shape: height*width, role: in, init: uniform}
//     - {name: height, value: height}
//     - {name: width, value: width}
//     - {name: radius, value: radius}

__global__ void flattenKernel(float *out, const float *in, int height, int width, int radius) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  int top = max(y - radius, 0), bottom = min(y + radius, height - 1);
  int left = max(x - radius, 0), right = min(x + radius, width - 1);
  float sum = 0.0f;
  for (int row = top; row <= bottom; ++row)
    for (int column = left; column <= right; ++column)
      sum += in[row * width + column];
  int count = (bottom - top + 1) * (right - left + 1);
  out[y * width + x] = in[y * width + x] - sum / count;
}

void flatten(float *out, const float *in, int height, int width, int radius) {
  dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
  flattenKernel<<<grid, block>>>(out, in, height, width, radius);
}
