// High-pass filter of a height map: boosts what differs from the neighbourhood's average.
//
// kb-workload:
//   entry: high_pass
//   sizes: {ny: 512, nx: 512, r: 9}
//   test-sizes: [{ny: 1, nx: 1, r: 1}, {ny: 10, nx: 35, r: 3}, {ny: 33, nx: 50, r: 6}]
//   unseen-sizes: [{ny: 20, nx: 41, r: 4}]
//   admissible:
//     r: {minimum: 0, maximum: 40}
//   parameters:
//     - {name: z, type: f32, shape: ny*nx, role: in, init: uniform}
//     - {name: detail, type: f32, shape: ny*nx, role: out}
//     - {name: r, value: r}
//     - {name: nx, value: nx}
//     - {name: ny, value: ny}
//     - {name: boost, value: 1.5, fixed: true}

__global__ void high_pass_kernel(const float *z, float *detail, int r, int nx, int ny, float boost)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    if (nx <= i || ny <= j)
        return;
    int j0 = max(j - r, 0), j1 = min(ny - 1, r + j);
    int i0 = max(i - r, 0), i1 = min(nx - 1, r + i);
    float total = 0.0f;
    for (int b = j0; b <= j1; b++)
        for (int a = i0; a <= i1; a++)
            total += z[a + b * nx];
    int cells = (i1 - i0 + 1) * (j1 - j0 + 1);
    detail[i + j * nx] = boost * (z[i + j * nx] - total / cells);
}

void high_pass(const float *z, float *detail, int r, int nx, int ny, float boost)
{
    dim3 threads(32, 8);
    dim3 blocks((nx + 31) / 32, (ny + 7) / 8);
    high_pass_kernel<<<blocks, threads>>>(z, detail, r, nx, ny, boost);
}
