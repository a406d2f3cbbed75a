/* Grouped GEMM over ragged batches.
 * One block column per group; every thread produces column j of all rows in its group.
 *
 * kb-workload:
 *   entry: grouped_gemm
 *   sizes: {m: 1536, k: 192, n: 320, groups: 24}
 *   test-sizes: [{m: 1, k: 1, n: 1, groups: 1}, {m: 29, k: 17, n: 41, groups: 4}, {m: 60, k: 36, n: 257, groups: 3}]
 *   unseen-sizes: [{m: 43, k: 21, n: 70, groups: 6}]
 *   parameters:
 *     - {name: offs, type: i32, shape: groups+1, role: in, init: offsets(m), values: [offsets]}
 *     - {name: A, type: f32, shape: m*k, role: in, init: normal}
 *     - {name: B, type: f32, shape: groups*k*n, role: in, init: normal}
 *     - {name: C, type: f32, shape: m*n, role: out}
 *     - {name: groups, value: groups}
 *     - {name: n, value: n}
 *     - {name: k, value: k}
 */

__global__ void grouped_gemm_kernel(const int *offs, const float *A, const float *B, float *C, int groups, int n, int k)
{
    int j = threadIdx.x + blockDim.x * blockIdx.x;
    int g = blockIdx.y;
    if (n <= j || groups <= g)
        return;
    const float *Bg = B + k * g * n;
    for (int r = offs[g]; r < offs[g + 1]; r++) {
        float acc = 0.0f;
        for (int p = 0; p < k; p++)
            acc += Bg[n * p + j] * A[k * r + p];
        C[n * r + j] = acc;
    }
}

void grouped_gemm(const int *offs, const float *A, const float *B, float *C, int groups, int n, int k)
{
    grouped_gemm_kernel<<<dim3((n + 63) / 64, groups), 64>>>(offs, A, B, C, groups, n, k);
}
