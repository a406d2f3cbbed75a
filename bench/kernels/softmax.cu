// Softmax of every row: one block a row, tree reductions in shared memory.
//
// kb-workload:
//   entry: softmax
//   sizes: {rows: 2048, width: 1024}
//   test-sizes: [{rows: 1, width: 1}, {rows: 3, width: 33}, {rows: 2, width: 300}]
//   unseen-sizes: [{rows: 5, width: 129}]
//   parameters:
//     - {name: y, type: f32, shape: rows*width, role: out}
//     - {name: x, type: f32, shape: rows*width, role: in, init: "normal(0, 3)"}
//     - {name: rows, value: rows}
//     - {name: width, value: width}

__global__ void softmaxKernel(float *y, const float *x, int width) {
  __shared__ float scratch[256];
  int row = blockIdx.x, lane = threadIdx.x;
  float top = -INFINITY;
  for (int j = lane; j < width; j += 256)
    top = fmaxf(top, x[row * width + j]);
  scratch[lane] = top;
  __syncthreads();
  for (int s = 128; s > 0; s /= 2) {
    if (lane < s)
      scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
    __syncthreads();
  }
  top = scratch[0];
  __syncthreads();
  float sum = 0.0f;
  for (int j = lane; j < width; j += 256)
    sum += expf(x[row * width + j] - top);
  scratch[lane] = sum;
  __syncthreads();
  for (int s = 128; s > 0; s /= 2) {
    if (lane < s)
      scratch[lane] += scratch[lane + s];
    __syncthreads();
  }
  sum = scratch[0];
  for (int j = lane; j < width; j += 256)
    y[row * width + j] = expf(x[row * width + j] - top) / sum;
}

void softmax(float *y, const float *x, int rows, int width) {
  softmaxKernel<<<rows, 256>>>(y, x, width);
}
