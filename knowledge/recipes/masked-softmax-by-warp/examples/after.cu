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

constexpr int kWarps = 4;

// A warp takes a row: first the maximum, then the sum, then the quotients.
__global__ void __launch_bounds__(32 * kWarps)
    maskedSoftmaxKernel(const float *__restrict__ scores, const unsigned char *__restrict__ keep,
                        float *__restrict__ probabilities, int queries, int keys, float scale) {
  int query = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (query >= queries)
    return;
  float top = -1e30f;
#pragma unroll 4
  for (int key = lane; key < keys; key += 32) {
    float score = scores[query * keys + key] * scale;
    if (keep[query * keys + key] != 0)
      top = fmaxf(top, score);
  }
  for (int offset = 16; offset > 0; offset /= 2)
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
  float total = 0.0f;
#pragma unroll 4
  for (int key = lane; key < keys; key += 32) {
    float term = expf(scores[query * keys + key] * scale - top);
    if (keep[query * keys + key] != 0)
      total += term;
  }
  for (int offset = 16; offset > 0; offset /= 2)
    total += __shfl_xor_sync(0xffffffffu, total, offset);
#pragma unroll 4
  for (int key = lane; key < keys; key += 32) {
    float probability = 0.0f;
    if (keep[query * keys + key] != 0)
      probability = expf(scores[query * keys + key] * scale - top) / total;
    probabilities[query * keys + key] = probability;
  }
}

void maskedSoftmax(const float *scores, const unsigned char *keep, float *probabilities, int queries, int keys,
                   float scale) {
  maskedSoftmaxKernel<<<(queries + kWarps - 1) / kWarps, 32 * kWarps>>>(scores, keep, probabilities, queries, keys, scale);
}
