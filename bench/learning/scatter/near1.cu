// Accumulates weighted descriptors per visual word.
//
// kb-workload:
//   entry: accumulate_words
//   sizes: {n: 98304, d: 32, words: 32}
//   test-sizes: [{n: 1, d: 1, words: 1}, {n: 260, d: 5, words: 4}, {n: 500, d: 20, words: 23}]
//   unseen-sizes: [{n: 333, d: 9, words: 11}]
//   parameters:
//     - {name: word, type: i32, shape: n, role: in, init: "range(0, words)", range: [0, words - 1]}
//     - {name: descriptors, type: f32, shape: n*d, role: in, init: uniform}
//     - {name: weight, type: f32, shape: n, role: in, init: uniform}
//     - {name: population, type: f32, shape: words, role: inout, init: zeros}
//     - {name: acc, type: f32, shape: words*d, role: inout, init: zeros}
//     - {name: words, value: words}
//     - {name: d, value: d}
//     - {name: n, value: n}

__global__ void accumulate_words_kernel(const int *word, const float *descriptors, const float *weight, float *population,
                                        float *acc, int words, int d, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (n <= i)
        return;
    int w = word[i];
    if (words <= w)
        return;
    for (int k = 0; k < d; k++)
        atomicAdd(&acc[d * w + k], descriptors[d * i + k] * weight[i]);
    atomicAdd(&population[w], weight[i]);
}

void accumulate_words(const int *word, const float *descriptors, const float *weight, float *population, float *acc,
                      int words, int d, int n)
{
    accumulate_words_kernel<<<(n + 127) / 128, 128>>>(word, descriptors, weight, population, acc, words, d, n);
}
