// kb-workload:
//   entry: rms
//   sizes: {rows: 256, width: 64}
//   test-sizes: [{rows: 3, width: 5}, {rows: 70, width: 33}]
//   parameters:
//     - {name: y, type: f32, shape: rows*width, role: out}
//     - {name: x, type: f32, shape: rows*width, role: in}
//     - {name: rows, value: rows}
//     - {name: width, value: width}
//     - {name: blocks, value: (rows + 127) / 128}
__global__ void rmsRows(float *y, const float *x, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0;
    for (int j = 0; j < width; ++j)
      sum += x[row * width + j] * x[row * width + j];
    float scale = rsqrtf(sum / width + 1e-5f);
    for (int j = 0; j < width; ++j)
      y[row * width + j] = x[row * width + j] * scale;
  }
}
void rms(float *y, const float *x, int rows, int width, int blocks) {
  rmsRows<<<blocks, 128>>>(y, x, rows, width);
}
