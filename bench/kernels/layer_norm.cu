// Normalisation: every row to mean 0 and variance 1, then gain and offset; one thread a row.
//
// kb-workload:
//   entry: layerNorm
//   sizes: {rows: 4096, width: 384}
//   test-sizes: [{rows: 1, width: 4}, {rows: 33, width: 31}, {rows: 5, width: 100}]
//   unseen-sizes: [{rows: 17, width: 67}]
//   parameters:
//     - {name: y, type: f32, shape: rows*width, role: out}
//     - {name: x, type: f32, shape: rows*width, role: in, init: normal}
//     - {name: gain, type: f32, shape: width, role: in, init: "uniform(0.5, 1.5)"}
//     - {name: offset, type: f32, shape: width, role: in, init: normal}
//     - {name: rows, value: rows}
//     - {name: width, value: width}

__global__ void layerNormKernel(float *y, const float *x, const float *gain, const float *offset,
                                int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int j = 0; j < width; ++j)
    sum += x[row * width + j];
  float mean = sum / width;
  float squares = 0.0f;
  for (int j = 0; j < width; ++j) {
    float d = x[row * width + j] - mean;
    squares += d * d;
  }
  float scale = 1.0f / sqrtf(squares / width + 1e-5f);
  for (int j = 0; j < width; ++j)
    y[row * width + j] = (x[row * width + j] - mean) * scale * gain[j] + offset[j];
}

void layerNorm(float *y, const float *x, const float *gain, const float *offset, int rows, int width) {
  layerNormKernel<<<(rows + 127) / 128, 128>>>(y, x, gain, offset, rows, width);
}
