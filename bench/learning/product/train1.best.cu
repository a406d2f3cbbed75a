// A layer of experts. The rows of x stand sorted by expert: expert e owns rows first[e] to first[e + 1] - 1. Each thread
// has one output column of one expert and walks over the rows of that expert.
//
// kb-workload:
//   entry: expertLayer
//   sizes: {rows: 1024, inner: 128, columns: 256, experts: 16}
//   test-sizes: [{rows: 1, inner: 1, columns: 1, experts: 1}, {rows: 37, inner: 19, columns: 33, experts: 5}, {rows: 64, inner: 40, columns: 130, experts: 2}]
//   unseen-sizes: [{rows: 51, inner: 23, columns: 65, experts: 3}]
//   parameters:
//     - {name: y, type: f32, shape: rows*columns, role: out}
//     - {name: x, type: f32, shape: rows*inner, role: in, init: normal}
//     - {name: w, type: f32, shape: experts*inner*columns, role: in, init: normal}
//     - {name: first, type: i32, shape: experts+1, role: in, init: offsets(rows), values: [offsets]}
//     - {name: inner, value: inner}
//     - {name: columns, value: columns}
//     - {name: experts, value: experts}

constexpr int kThreads = 128;
constexpr int kRows = 16;
constexpr int kDepth = 32;

// A thread keeps the sums of kRows rows, so that it loads each weight once for all of them. The rows wait in shared memory.
__global__ void __launch_bounds__(kThreads)
    expertProduct(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ w,
                  const int *__restrict__ first, int inner, int columns, int experts) {
  __shared__ alignas(16) float part[kDepth][kRows + 4];
  int column = blockIdx.x * kThreads + threadIdx.x;
  int expert = blockIdx.y;
  const float *weight = w + expert * inner * columns;
  int end = first[expert + 1];
  for (int row = first[expert] + blockIdx.z * kRows; row < end; row += gridDim.z * kRows) {
    float sum[kRows] = {};
    for (int start = 0; start < inner; start += kDepth) {
      int depth = min(kDepth, inner - start);
      __syncthreads();
      for (int e = threadIdx.x; e < kRows * kDepth; e += kThreads) {
        int r = e / kDepth, k = e % kDepth;
        part[k][r] = row + r < end && k < depth ? x[(row + r) * inner + start + k] : 0.0f;
      }
      __syncthreads();
      if (column < columns) {
#pragma unroll 8
        for (int k = 0; k < depth; ++k) {
          float factor = weight[(start + k) * columns + column];
#pragma unroll
          for (int r = 0; r < kRows; ++r)
            sum[r] += part[k][r] * factor;
        }
      }
    }
    if (column < columns) {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        if (row + r < end)
          y[(row + r) * columns + column] = sum[r];
    }
  }
}

void expertLayer(float *y, const float *x, const float *w, const int *first, int inner, int columns, int experts) {
  expertProduct<<<dim3((columns + 127) / 128, experts, 8), 128>>>(y, x, w, first, inner, columns, experts);
}
