// Row-wise quantisation to eight bits: every row is divided by its largest magnitude.
//
// kb-workload:
//   entry: quantizeRows
//   sizes: {rows: 8192, width: 768}
//   test-sizes: [{rows: 1, width: 1}, {rows: 9, width: 33}, {rows: 33, width: 100}]
//   unseen-sizes: [{rows: 37, width: 61}]
//   parameters:
//     - {name: q, type: i8, shape: rows*width, role: out}
//     - {name: scales, type: f32, shape: rows, role: out}
//     - {name: x, type: f32, shape: rows*width, role: in, init: normal, values: [finite]}
//     - {name: rows, value: rows}
//     - {name: width, value: width}

__global__ void quantizeRowsKernel(signed char *q, float *scales, const float *x, int rows, int width)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows)
    {
        float largest = 1e-12f;
        for (int c = 0; c < width; ++c)
            largest = fmaxf(largest, fabsf(x[r * width + c]));
        scales[r] = largest / 127.0f;
        for (int c = 0; c < width; ++c)
            q[r * width + c] = (signed char)__float2int_rn(x[r * width + c] * (127.0f / largest));
    }
}

void quantizeRows(signed char *q, float *scales, const float *x, int rows, int width)
{
    quantizeRowsKernel<<<(rows + 255) / 256, 256>>>(q, scales, x, rows, width);
}
