// Divides every row of a matrix by its root mean square. One thread takes a
// whole row, so that neighbouring lanes read addresses a row apart.
//
// kb-workload:
//   entry: rowNorm
//   sizes: {rows: 1024, width: 128}
//   test-sizes: [{rows: 1, width: 1}, {rows: 9, width: 33}, {rows: 33, width: 100}]
//   unseen-sizes: [{rows: 37, width: 61}]
//   parameters:
//     - {name: y, type: f32, shape: rows*width, role: out}
//     - {name: x, type: f32, shape: rows*width, role: in, init: normal}
//     - {name: rows, value: rows}
//     - {name: width, value: width}

__global__ void rowNormKernel(float *y, const float *x, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float squares = 0.0f;
  for (int j = 0; j < width; ++j)
    squares += x[row * width + j] * x[row * width + j];
  float scale = 1.0f / sqrtf(squares / width + 1e-6f);
  for (int j = 0; j < width; ++j)
    y[row * width + j] = x[row * width + j] * scale;
}

void rowNorm(float *y, const float *x, int rows, int width) {
  rowNormKernel<<<(rows + 127) / 128, 128>>>(y, x, rows, width);
}
