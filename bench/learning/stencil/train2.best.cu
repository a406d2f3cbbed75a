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

constexpr int kSide = 32;
constexpr int kMost = 16;

// A block computes 32 x 32 pixels. It adds up along rows first and along columns then, in shared memory. A radius of more
// than 16 is added up pixel by pixel.
__global__ void __launch_bounds__(256) flattenKernel(float *__restrict__ out, const float *__restrict__ in, int height,
                                                     int width, int radius) {
  __shared__ float tile[kSide + 2 * kMost][kSide + 2 * kMost], across[kSide + 2 * kMost][kSide];
  int firstX = blockIdx.x * kSide, firstY = blockIdx.y * kSide;
  int edge = kSide + 2 * radius;
  if (radius <= kMost) {
    for (int v = threadIdx.y; v < edge; v += blockDim.y)
      for (int u = threadIdx.x; u < edge; u += blockDim.x) {
        int x = firstX + u - radius, y = firstY + v - radius;
        tile[v][u] = x >= 0 && x < width && y >= 0 && y < height ? in[y * width + x] : 0.0f;
      }
    __syncthreads();
    for (int v = threadIdx.y; v < edge; v += blockDim.y) {
      float sum = 0.0f;
      for (int d = 0; d <= 2 * radius; ++d)
        sum += tile[v][threadIdx.x + d];
      across[v][threadIdx.x] = sum;
    }
    __syncthreads();
  }
  int x = firstX + threadIdx.x;
  for (int v = threadIdx.y; v < kSide; v += blockDim.y) {
    int y = firstY + v;
    if (x >= width || y >= height)
      break;
    int top = max(y - radius, 0), bottom = min(y + radius, height - 1);
    int left = max(x - radius, 0), right = min(x + radius, width - 1);
    float sum = 0.0f;
    if (radius <= kMost) {
      for (int d = 0; d <= 2 * radius; ++d)
        sum += across[v + d][threadIdx.x];
    } else {
      for (int row = top; row <= bottom; ++row)
        for (int column = left; column <= right; ++column)
          sum += in[row * width + column];
    }
    int count = (bottom - top + 1) * (right - left + 1);
    out[y * width + x] = in[y * width + x] - sum / count;
  }
}

void flatten(float *out, const float *in, int height, int width, int radius) {
  flattenKernel<<<dim3((width + kSide - 1) / kSide, (height + kSide - 1) / kSide), dim3(32, 8)>>>(out, in, height, width, radius);
}
