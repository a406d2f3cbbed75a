// A model block of three kernels: a dense layer, GELU, and a scaled residual.
//
// kb-workload:
//   entry: mlpBlock
//   sizes: {rows: 512, in: 256, out: 256}
//   test-sizes: [{rows: 1, in: 4, out: 4}, {rows: 33, in: 17, out: 17}, {rows: 10, in: 40, out: 40}]
//   unseen-sizes: [{rows: 21, in: 19, out: 19}]
//   parameters:
//     - {name: y, type: f32, shape: rows*out, role: out}
//     - {name: hidden, type: f32, shape: rows*out, role: out}
//     - {name: x, type: f32, shape: rows*in, role: in, init: normal}
//     - {name: weight, type: f32, shape: in*out, role: in, init: "normal(0, 0.1)"}
//     - {name: bias, type: f32, shape: out, role: in, init: normal}
//     - {name: rows, value: rows}
//     - {name: in, value: in}
//     - {name: out, value: out}

__global__ void denseKernel(float *hidden, const float *x, const float *weight, const float *bias,
                            int rows, int in, int out) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || column >= out)
    return;
  float sum = bias[column];
  for (int i = 0; i < in; ++i)
    sum += x[row * in + i] * weight[i * out + column];
  hidden[row * out + column] = sum;
}

__global__ void geluKernel(float *values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = values[i];
    values[i] = 0.5 * v * (1.0 + erff(v * 0.70710678));
  }
}

__global__ void residualKernel(float *y, const float *hidden, const float *x, int n, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + scale * hidden[i];
}

void mlpBlock(float *y, float *hidden, const float *x, const float *weight, const float *bias, int rows,
              int in, int out) {
  dim3 block(16, 16), grid((rows + 15) / 16, (out + 15) / 16);
  denseKernel<<<grid, block>>>(hidden, x, weight, bias, rows, in, out);
  int n = rows * out;
  geluKernel<<<(n + 127) / 128, 128>>>(hidden, n);
  if (in == out)
    residualKernel<<<(n + 127) / 128, 128>>>(y, hidden, x, n, 0.5f);
}
