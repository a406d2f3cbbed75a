// Softmax of attention scores over the keys that a mask keeps. Maximum and sum are kept up to date in one loop.
//
// kb-workload:
//   entry: maskedSoftmax
//   sizes: {queries: 4096, keys: 1024}
//   test-sizes: [{queries: 1, keys: 1}, {queries: 9, keys: 33}, {queries: 33, keys: 100}]
//   unseen-sizes: [{queries: 37, keys: 61}]
//   parameters:
//     - {name: scores, type: f32, shape: queries*keys, role: in, init: normal, values: [finite]}
//     - {name: keep, type: u8, shape: queries*keys, role: in, init: "range(0, 2)"}
//     - {name: probabilities, type: f32, shape: queries*keys, role: out}
//     - {name: queries, value: queries}
//     - {name: keys, value: keys}
//     - {name: scale, value: 0.125, fixed: true}

__global__ void maskedSoftmaxKernel(const float *scores, const unsigned char *keep, float *probabilities, int queries,
                                    int keys, float scale) {
  int query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query >= queries)
    return;
  float top = -1e30f;
  float total = 0.0f;
  for (int key = 0; key < keys; ++key) {
    if (keep[query * keys + key] == 0)
      continue;
    float score = scores[query * keys + key] * scale;
    if (score > top) {
      total = total * expf(top - score) + 1.0f;
      top = score;
    } else {
      total += expf(score - top);
    }
  }
  for (int key = 0; key < keys; ++key) {
    float probability = 0.0f;
    if (keep[query * keys + key] != 0)
      probability = expf(scores[query * keys + key] * scale - top) / total;
    probabilities[query * keys + key] = probability;
  }
}

void maskedSoftmax(const float *scores, const unsigned char *keep, float *probabilities, int queries, int keys,
                   float scale) {
  maskedSoftmaxKernel<<<(queries + 63) / 64, 64>>>(scores, keep, probabilities, queries, keys, scale);
}
