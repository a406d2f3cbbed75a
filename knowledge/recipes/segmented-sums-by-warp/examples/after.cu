// Running sums along each row that start anew wherever a flag is set.
//
// kb-workload:
//   entry: segmentedSums
//   sizes: {rows: 2048, width: 1024}
//   test-sizes: [{rows: 1, width: 1}, {rows: 9, width: 33}, {rows: 33, width: 100}]
//   unseen-sizes: [{rows: 37, width: 61}]
//   parameters:
//     - {name: out, type: f32, shape: rows*width, role: out}
//     - {name: in, type: f32, shape: rows*width, role: in, init: normal, values: [finite]}
//     - {name: start, type: u8, shape: rows*width, role: in, init: "range(0, 2)"}
//     - {name: rows, value: rows}
//     - {name: width, value: width}

constexpr int kWarps = 4;

// A warp takes a row, 32 elements at once. A lane adds what lies up to `reach` before it: back to the last flag.
__global__ void __launch_bounds__(32 * kWarps)
    segmentedSumsKernel(float *__restrict__ out, const float *__restrict__ in, const unsigned char *__restrict__ start,
                        int rows, int width) {
  int row = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  float last = 0.0f;
  for (int first = 0; first < width; first += 32) {
    int j = first + lane;
    float sum = j < width ? in[row * width + j] : 0.0f;
    bool flag = j < width && start[row * width + j] != 0;
    unsigned flags = __ballot_sync(0xffffffffu, flag) & (0xffffffffu >> (31 - lane));
    int reach = flags ? lane - (31 - __clz(flags)) : lane;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      float other = __shfl_up_sync(0xffffffffu, sum, offset);
      if (offset <= reach)
        sum += other;
    }
    if (flags == 0)
      sum += last;
    if (j < width)
      out[row * width + j] = sum;
    last = __shfl_sync(0xffffffffu, sum, 31);
  }
}

void segmentedSums(float *out, const float *in, const unsigned char *start, int rows, int width) {
  segmentedSumsKernel<<<(rows + kWarps - 1) / kWarps, 32 * kWarps>>>(out, in, start, rows, width);
}
