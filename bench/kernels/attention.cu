// Attention of one head: scores, softmax, weighted sum; three kernels without tiles.
//
// kb-workload:
//   entry: attention
//   sizes: {t: 512, d: 64}
//   test-sizes: [{t: 1, d: 1}, {t: 33, d: 8}, {t: 20, d: 31}]
//   unseen-sizes: [{t: 41, d: 12}]
//   parameters:
//     - {name: out, type: f32, shape: t*d, role: out}
//     - {name: scores, type: f32, shape: t*t, role: out}
//     - {name: q, type: f32, shape: t*d, role: in, init: normal}
//     - {name: k, type: f32, shape: t*d, role: in, init: normal}
//     - {name: v, type: f32, shape: t*d, role: in, init: normal}
//     - {name: t, value: t}
//     - {name: d, value: d}

__global__ void scoreKernel(float *scores, const float *q, const float *k, int t, int d) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= t || column >= t)
    return;
  float dot = 0.0f;
  for (int i = 0; i < d; ++i)
    dot += q[row * d + i] * k[column * d + i];
  scores[row * t + column] = dot / sqrtf((float)d);
}

__global__ void rowSoftmaxKernel(float *scores, int t) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= t)
    return;
  float top = -INFINITY;
  for (int j = 0; j < t; ++j)
    top = fmaxf(top, scores[row * t + j]);
  float sum = 0.0f;
  for (int j = 0; j < t; ++j) {
    float e = expf(scores[row * t + j] - top);
    scores[row * t + j] = e;
    sum += e;
  }
  for (int j = 0; j < t; ++j)
    scores[row * t + j] /= sum;
}

__global__ void valueKernel(float *out, const float *scores, const float *v, int t, int d) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= t || column >= d)
    return;
  float sum = 0.0f;
  for (int j = 0; j < t; ++j)
    sum += scores[row * t + j] * v[j * d + column];
  out[row * d + column] = sum;
}

void attention(float *out, float *scores, const float *q, const float *k, const float *v, int t, int d) {
  dim3 block(16, 16);
  scoreKernel<<<dim3((t + 15) / 16, (t + 15) / 16), block>>>(scores, q, k, t, d);
  rowSoftmaxKernel<<<(t + 63) / 64, 64>>>(scores, t);
  valueKernel<<<dim3((d + 15) / 16, (t + 15) / 16), block>>>(out, scores, v, t, d);
}
