// Bounding boxes of the labelled regions of an image. Boxes start empty: low corners at a large number, high ones at -1.
//
// kb-workload:
//   entry: boundingBoxes
//   sizes: {height: 1024, width: 1536, labels: 48}
//   test-sizes: [{height: 1, width: 1, labels: 1}, {height: 9, width: 33, labels: 5}, {height: 40, width: 70, labels: 16}]
//   unseen-sizes: [{height: 31, width: 45, labels: 7}]
//   parameters:
//     - {name: left, type: i32, shape: labels, role: inout, init: constant(1000000)}
//     - {name: right, type: i32, shape: labels, role: inout, init: constant(-1)}
//     - {name: top, type: i32, shape: labels, role: inout, init: constant(1000000)}
//     - {name: bottom, type: i32, shape: labels, role: inout, init: constant(-1)}
//     - {name: image, type: i32, shape: height*width, role: in, init: "range(0, labels)", range: [0, labels - 1]}
//     - {name: height, value: height}
//     - {name: width, value: width}
//     - {name: labels, value: labels}

constexpr int kLabels = 512;
constexpr int kEmptyLow = 2147483647;
constexpr int kEmptyHigh = -2147483647 - 1;

// A block has boxes of its own in shared memory, takes every gridDim.x-th row, and joins its boxes with the others' once.
__global__ void __launch_bounds__(256)
    boundingBoxesKernel(int *left, int *right, int *top, int *bottom, const int *__restrict__ image, int height, int width,
                        int labels) {
  __shared__ int low[2][kLabels], high[2][kLabels];
  for (int label = threadIdx.x; label < kLabels; label += blockDim.x) {
    low[0][label] = low[1][label] = kEmptyLow;
    high[0][label] = high[1][label] = kEmptyHigh;
  }
  __syncthreads();
  for (int y = blockIdx.x; y < height; y += gridDim.x)
    for (int x = threadIdx.x; x < width; x += blockDim.x) {
      int label = image[y * width + x];
      if (label >= labels)
        continue;
      bool own = label < kLabels;
      atomicMin(own ? &low[0][label] : &left[label], x);
      atomicMax(own ? &high[0][label] : &right[label], x);
      atomicMin(own ? &low[1][label] : &top[label], y);
      atomicMax(own ? &high[1][label] : &bottom[label], y);
    }
  __syncthreads();
  for (int label = threadIdx.x; label < min(kLabels, labels); label += blockDim.x)
    if (low[0][label] != kEmptyLow) {
      atomicMin(&left[label], low[0][label]);
      atomicMax(&right[label], high[0][label]);
      atomicMin(&top[label], low[1][label]);
      atomicMax(&bottom[label], high[1][label]);
    }
}

void boundingBoxes(int *left, int *right, int *top, int *bottom, const int *image, int height, int width, int labels) {
  boundingBoxesKernel<<<528, 256>>>(left, right, top, bottom, image, height, width, labels);
}
