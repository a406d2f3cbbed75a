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

__global__ void expertProduct(float *y, const float *x, const float *w, const int *first, int inner, int columns,
                              int experts) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int expert = blockIdx.y;
  if (column >= columns || expert >= experts)
    return;
  const float *weight = w + expert * inner * columns;
  for (int row = first[expert]; row < first[expert + 1]; ++row) {
    float sum = 0.0f;
    for (int k = 0; k < inner; ++k)
      sum += x[row * inner + k] * weight[k * columns + column];
    y[row * columns + column] = sum;
  }
}

void expertLayer(float *y, const float *x, const float *w, const int *first, int inner, int columns, int experts) {
  dim3 grid((columns + 127) / 128, experts);
  expertProduct<<<grid, 128>>>(y, x, w, first, inner, columns, experts);
}
