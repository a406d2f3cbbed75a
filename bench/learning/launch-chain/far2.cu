// Clips a gradient by its norm: sums of squares of 256 elements each, their sum by a single thread, and the scaling.
//
// kb-workload:
//   entry: clipGradient
//   sizes: {n: 4194304}
//   test-sizes: [{n: 1}, {n: 300}, {n: 5000}]
//   unseen-sizes: [{n: 1111}]
//   parameters:
//     - {name: gradient, type: f32, shape: n, role: inout, init: normal}
//     - {name: partial, type: f32, shape: "ceildiv(n, 256)", role: out}
//     - {name: factor, type: f32, shape: 1, role: out}
//     - {name: n, value: n}

__global__ void squares(const float *gradient, float *partial, int n)
{
    __shared__ float part[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    part[threadIdx.x] = i < n ? gradient[i] * gradient[i] : 0.0f;
    __syncthreads();
    for (int half = 1; half < 256; half *= 2) {
        if (threadIdx.x % (2 * half) == 0)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = part[0];
}

__global__ void norm(const float *partial, float *factor, int blocks)
{
    float sum = 0.0f;
    for (int b = 0; b < blocks; b++)
        sum += partial[b];
    float length = sqrtf(sum);
    *factor = length > 1.0f ? 1.0f / length : 1.0f;
}

__global__ void scale(float *gradient, const float *factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        gradient[i] *= *factor;
}

void clipGradient(float *gradient, float *partial, float *factor, int n)
{
    int blocks = (n + 255) / 256;
    squares<<<blocks, 256>>>(gradient, partial, n);
    norm<<<1, 1>>>(partial, factor, blocks);
    scale<<<blocks, 256>>>(gradient, factor, n);
}
