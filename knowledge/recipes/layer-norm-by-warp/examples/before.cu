// Layer normalisation by Welford's recurrence: one thread takes a row, so that nothing has to be read twice for the
// variance.
//
// kb-workload:
//   entry: layerNorm
//   sizes: {rows: 8192, width: 512}
//   test-sizes: [{rows: 1, width: 1}, {rows: 9, width: 33}, {rows: 33, width: 100}]
//   unseen-sizes: [{rows: 37, width: 61}]
//   parameters:
//     - {name: out, type: f32, shape: rows*width, role: out}
//     - {name: in, type: f32, shape: rows*width, role: in, init: normal}
//     - {name: gamma, type: f32, shape: width, role: in, init: normal}
//     - {name: beta, type: f32, shape: width, role: in, init: normal}
//     - {name: rows, value: rows}
//     - {name: width, value: width}

__global__ void layerNormKernel(float *out, const float *in, const float *gamma, const float *beta, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float mean = 0.0f;
  float squares = 0.0f;
  for (int j = 0; j < width; ++j) {
    float value = in[row * width + j];
    float delta = value - mean;
    mean += delta / (j + 1);
    squares += delta * (value - mean);
  }
  float scale = rsqrtf(squares / width + 1e-5f);
  for (int j = 0; j < width; ++j)
    out[row * width + j] = (in[row * width + j] - mean) * scale * gamma[j] + beta[j];
}

void layerNorm(float *out, const float *in, const float *gamma, const float *beta, int rows, int width) {
  layerNormKernel<<<(rows + 127) / 128, 128>>>(out, in, gamma, beta, rows, width);
}
