// Despeckles a radar image with a 5 x 5 median (insertion sort, clamped borders).
//
// kb-workload:
//   entry: despeckle
//   sizes: {rows: 600, cols: 512}
//   test-sizes: [{rows: 1, cols: 1}, {rows: 11, cols: 34}, {rows: 25, cols: 40}]
//   unseen-sizes: [{rows: 15, cols: 22}]
//   parameters:
//     - {name: src, type: f32, shape: rows*cols, role: in, init: uniform, values: [finite]}
//     - {name: dst, type: f32, shape: rows*cols, role: out}
//     - {name: cols, value: cols}
//     - {name: rows, value: rows}

__global__ void despeckle_kernel(const float *src, float *dst, int cols, int rows)
{
    int c = threadIdx.x + blockDim.x * blockIdx.x;
    int r = threadIdx.y + blockDim.y * blockIdx.y;
    if (cols <= c || rows <= r)
        return;
    float s[25];
    int n = 0;
    for (int i = -2; i <= 2; i++)
        for (int j = -2; j <= 2; j++) {
            int rr = min(max(r + i, 0), rows - 1);
            int cc = min(max(c + j, 0), cols - 1);
            float v = src[cc + rr * cols];
            int k = n;
            while (k > 0 && v < s[k - 1]) {
                s[k] = s[k - 1];
                --k;
            }
            s[k] = v;
            ++n;
        }
    dst[c + r * cols] = s[12];
}

void despeckle(const float *src, float *dst, int cols, int rows)
{
    dim3 threads(32, 4);
    dim3 blocks((cols + 31) / 32, (rows + 3) / 4);
    despeckle_kernel<<<blocks, threads>>>(src, dst, cols, rows);
}
