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

__global__ void boundingBoxesKernel(int *left, int *right, int *top, int *bottom, const int *image, int height, int width,
                                    int labels) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  int label = image[y * width + x];
  if (label < labels) {
    atomicMin(&left[label], x);
    atomicMax(&right[label], x);
    atomicMin(&top[label], y);
    atomicMax(&bottom[label], y);
  }
}

void boundingBoxes(int *left, int *right, int *top, int *bottom, const int *image, int height, int width, int labels) {
  dim3 block(32, 8), grid((width + 31) / 32, (height + 7) / 8);
  boundingBoxesKernel<<<grid, block>>>(left, right, top, bottom, image, height, width, labels);
}
