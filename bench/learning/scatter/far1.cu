// Histograms of gradient directions: each pixel votes with its gradient's length in the cell that it lies in.
//
// kb-workload:
//   entry: directionHistograms
//   sizes: {height: 1536, width: 2048, cell: 32}
//   test-sizes: [{height: 2, width: 2, cell: 1}, {height: 17, width: 33, cell: 4}, {height: 40, width: 50, cell: 8}]
//   unseen-sizes: [{height: 23, width: 37, cell: 5}]
//   admissible:
//     cell: {minimum: 1}
//   parameters:
//     - {name: votes, type: f32, shape: "ceildiv(height, cell)*ceildiv(width, cell)*9", role: inout, init: zeros}
//     - {name: gray, type: f32, shape: height*width, role: in, init: uniform, values: [finite]}
//     - {name: height, value: height}
//     - {name: width, value: width}
//     - {name: cell, value: cell}

__global__ void voteKernel(float *votes, const float *gray, int height, int width, int cell) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
    return;
  float dx = gray[y * width + x + 1] - gray[y * width + x - 1];
  float dy = gray[(y + 1) * width + x] - gray[(y - 1) * width + x];
  float angle = atan2f(dy, dx);
  if (angle < 0)
    angle += 3.14159265f;
  int bin = min(8, (int)(angle * 2.86478898f));
  int cells = (width + cell - 1) / cell;
  atomicAdd(&votes[((y / cell) * cells + x / cell) * 9 + bin], sqrtf(dx * dx + dy * dy));
}

void directionHistograms(float *votes, const float *gray, int height, int width, int cell) {
  dim3 block(32, 8);
  voteKernel<<<dim3((width + 31) / 32, (height + 7) / 8), block>>>(votes, gray, height, width, cell);
}
