// Running sums along each row that start anew wherever a flag is set.
//
// kb-workload:
//   entry: segmentedSums
//   sizes: {rows: 2048, width: 1024}
//   test-sizes: [{rows: 1, width: 1}, {rows: 9, width: 33}, {rows: 33, width: 100}]
//   unseen-sizes: [{rows: 37, width: 61}]
//   parameters:
//     - {name: out, type: f32, shape: rows*width, role: out}
//     - {name: in, type: f32, shape: rows*width, role: in, init: normal, values: [finite]}
//     - {name: start, type: u8, shape: rows*width, role: in, init: "range(0, 2)"}
//     - {name: rows, value: rows}
//     - {name: width, value: width}

__global__ void segmentedSumsKernel(float *out, const float *in, const unsigned char *start, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int j = 0; j < width; ++j) {
    if (start[row * width + j] != 0)
      sum = 0.0f;
    sum += in[row * width + j];
    out[row * width + j] = sum;
  }
}

void segmentedSums(float *out, const float *in, const unsigned char *start, int rows, int width) {
  segmentedSumsKernel<<<(rows + 63) / 64, 64>>>(out, in, start, rows, width);
}
