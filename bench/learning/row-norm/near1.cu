// Standardises the embeddings of tokens (running mean and M2, single pass), then applies an affine map.
//
// kb-workload:
//   entry: standardize
//   sizes: {tokens: 12288, dim: 384}
//   test-sizes: [{tokens: 1, dim: 1}, {tokens: 11, dim: 40}, {tokens: 35, dim: 97}]
//   unseen-sizes: [{tokens: 26, dim: 71}]
//   parameters:
//     - {name: x, type: f32, shape: tokens*dim, role: in, init: normal}
//     - {name: weight, type: f32, shape: dim, role: in, init: normal}
//     - {name: bias, type: f32, shape: dim, role: in, init: normal}
//     - {name: y, type: f32, shape: tokens*dim, role: out}
//     - {name: dim, value: dim}
//     - {name: tokens, value: tokens}

__global__ void standardize_kernel(const float *x, const float *weight, const float *bias, float *y, int dim, int tokens)
{
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    if (tokens <= t)
        return;
    float mu = 0.0f;
    float m2 = 0.0f;
    for (int d = 0; d < dim; d++) {
        float v = x[dim * t + d];
        float diff = v - mu;
        mu += diff / (1 + d);
        m2 += (v - mu) * diff;
    }
    float inv = rsqrtf(1e-6f + m2 / dim);
    for (int d = 0; d < dim; d++)
        y[d + t * dim] = bias[d] + weight[d] * ((x[d + t * dim] - mu) * inv);
}

void standardize(const float *x, const float *weight, const float *bias, float *y, int dim, int tokens)
{
    standardize_kernel<<<(tokens + 255) / 256, 256>>>(x, weight, bias, y, dim, tokens);
}
