// Symmetric rank-k update into packed storage: element p of the lower triangle is row i, column j with
// p = i (i + 1) / 2 + j.
//
// kb-workload:
//   entry: packedUpdate
//   sizes: {n: 512, k: 256}
//   test-sizes: [{n: 1, k: 1}, {n: 17, k: 5}, {n: 65, k: 30}]
//   unseen-sizes: [{n: 40, k: 13}]
//   parameters:
//     - {name: packed, type: f32, shape: n*(n+1)/2, role: inout, init: normal}
//     - {name: a, type: f32, shape: n*k, role: in, init: normal}
//     - {name: n, value: n}
//     - {name: k, value: k}

__global__ void syrkPacked(float *packed, const float *a, int n, int k)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < n * (n + 1) / 2)
    {
        int i = (int)((sqrtf(8.0f * p + 1.0f) - 1.0f) * 0.5f);
        while (i * (i + 1) / 2 > p)
            --i;
        while ((i + 1) * (i + 2) / 2 <= p)
            ++i;
        int j = p - i * (i + 1) / 2;
        float dot = 0.f;
        for (int c = 0; c < k; c++)
            dot += a[i * k + c] * a[j * k + c];
        packed[p] = packed[p] - dot;
    }
}

void packedUpdate(float *packed, const float *a, int n, int k)
{
    int elements = n * (n + 1) / 2;
    syrkPacked<<<(elements + 255) / 256, 256>>>(packed, a, n, k);
}
