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

constexpr int kWarps = 8;

__device__ float addLanes(float value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

// A warp takes a row. The row is in the cache when it is read again, so two sums cost less than the recurrence. Sums are of
// differences from the first element: those of a row whose elements are all alike are exact.
__global__ void __launch_bounds__(32 * kWarps)
    layerNormKernel(float *__restrict__ out, const float *__restrict__ in, const float *__restrict__ gamma,
                    const float *__restrict__ beta, int rows, int width) {
  int row = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  float pivot = width > 0 ? in[row * width] : 0.0f;
  float sum = 0.0f;
  for (int j = lane; j < width; j += 32)
    sum += in[row * width + j] - pivot;
  float mean = pivot + addLanes(sum) / width;
  float squares = 0.0f;
  for (int j = lane; j < width; j += 32) {
    float delta = in[row * width + j] - mean;
    squares += delta * delta;
  }
  squares = addLanes(squares);
  float scale = rsqrtf(squares / width + 1e-5f);
  for (int j = lane; j < width; j += 32)
    out[row * width + j] = (in[row * width + j] - mean) * scale * gamma[j] + beta[j];
}

void layerNorm(float *out, const float *in, const float *gamma, const float *beta, int rows, int width) {
  layerNormKernel<<<(rows + kWarps - 1) / kWarps, 32 * kWarps>>>(out, in, gamma, beta, rows, width);
}
