// A loop over a window that is written out: whether its accesses meet is asked for every pair of them, and no question takes long.
// RUN: kb-opt -passes=cache-hint-streaming -o /dev/null %s 2>&1 | FileCheck %s
// CHECK: 'output' is not known to be touched once
#include <cuda_fp16.h>

__global__ void pool(
    const half* __restrict__ input, half* __restrict__ output, int padding) {
    constexpr int batch_size = 16;
    constexpr int channels = 32;
    constexpr int in1 = 64;
    constexpr int in2 = 64;
    constexpr int in3 = 64;
    constexpr int out1 = 30;
    constexpr int out2 = 30;
    constexpr int out3 = 30;
    constexpr int kernel_size = 3;
    constexpr int stride = 2;
    constexpr int dilation = 3;
    // Flat output index
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    int total = batch_size * channels * out1 * out2 * out3;
    if (tid >= total)
        return;

    // Compute output indices: n, c, od1, od2, od3
    int o3 = tid % out3;
    int o2 = (tid / out3) % out2;
    int o1 = (tid / (out3 * out2)) % out1;
    int c = (tid / (out3 * out2 * out1)) % channels;
    int n = tid / (out3 * out2 * out1 * channels);

    // Compute input window start
    int id1_start = o1 * stride - padding;
    int id2_start = o2 * stride - padding;
    int id3_start = o3 * stride - padding;

    // Max accumulator (init to lowest possible fp16 value)
    half max_val = __float2half(-65504.0f);

    // For each window element
#pragma unroll
    for (int k1 = 0; k1 < kernel_size; ++k1) {
        int id1 = id1_start + k1 * dilation;
        if (id1 < 0 || id1 >= in1)
            continue;
#pragma unroll
        for (int k2 = 0; k2 < kernel_size; ++k2) {
            int id2 = id2_start + k2 * dilation;
            if (id2 < 0 || id2 >= in2)
                continue;
#pragma unroll
            for (int k3 = 0; k3 < kernel_size; ++k3) {
                int id3 = id3_start + k3 * dilation;
                if (id3 < 0 || id3 >= in3)
                    continue;

                // Compute input index
                size_t inp_idx =
                    ((size_t)n * channels * in1 * in2 * in3) +
                    ((size_t)c * in1 * in2 * in3) +
                    ((size_t)id1 * in2 * in3) +
                    ((size_t)id2 * in3) +
                    id3;

                half v = input[inp_idx];
                max_val = __hgt(v, max_val) ? v : max_val;
            }
        }
    }

    // Write output
    size_t out_idx =
        ((size_t)n * channels * out1 * out2 * out3) +
        ((size_t)c * out1 * out2 * out3) +
        ((size_t)o1 * out2 * out3) +
        ((size_t)o2 * out3) +
        o3;
    output[out_idx] = max_val;
}

void run(const half *x, half *y, int padding) { pool<<<54000, 256>>>(x, y, padding); }
