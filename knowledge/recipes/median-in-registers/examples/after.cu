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

__device__ void order(float &low, float &high) {
  float less = fminf(low, high);
  high = fmaxf(low, high);
  low = less;
}

// The median is found in registers. Of 14 values neither the least nor the greatest can be the median of all 25: both go,
// and the next value comes, until three are left.
__global__ void __launch_bounds__(256) medianKernel(float *__restrict__ out, const float *__restrict__ in, int height,
                                                    int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  float window[25];
#pragma unroll
  for (int at = 0; at < 25; ++at) {
    int row = min(max(y + at / 5 - 2, 0), height - 1);
    int column = min(max(x + at % 5 - 2, 0), width - 1);
    window[at] = in[row * width + column];
  }
#pragma unroll
  for (int left = 14; left >= 3; --left) {
#pragma unroll
    for (int i = 0; i < left / 2; ++i)
      order(window[i], window[left - 1 - i]);
#pragma unroll
    for (int i = 1; i <= (left - 1) / 2; ++i)
      order(window[0], window[i]);
#pragma unroll
    for (int i = left / 2; i < left - 1; ++i)
      order(window[i], window[left - 1]);
    if (left > 3)
      window[0] = window[28 - left];
  }
  out[y * width + x] = window[1];
}

void median(float *out, const float *in, int height, int width) {
  medianKernel<<<dim3((width + 31) / 32, (height + 7) / 8), dim3(32, 8)>>>(out, in, height, width);
}
