// Tiles and places in them, whichever indices number these: each pair is one dimension.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// CHECK: kb.nest @_Z7swapped{{.*}} extents [{{.*}} : N>, {{.*}} : M>] {{.*}} requires [{{.*}}32 - bdim.x>, {{.*}}32 - bdim.y>{{.*}}gdim.x * 32 - M>
__global__ void swapped(float *c, const float *a, int M, int N) {
  int row = blockIdx.x * 32 + threadIdx.y, col = blockIdx.y * 32 + threadIdx.x;
  if (row < M && col < N)
    c[row * N + col] = 2.0f * a[row * N + col];
}
// CHECK: kb.nest @_Z5byDim{{.*}} extents [{{.*}} : N>, {{.*}} : M>] {{.*}} requires [{{.*}}bdim.y * gdim.x - M>
__global__ void byDim(float *c, const float *a, int M, int N) {
  int row = blockIdx.x * blockDim.y + threadIdx.y, col = blockIdx.y * blockDim.x + threadIdx.x;
  if (row < M && col < N)
    c[row * N + col] = 2.0f * a[row * N + col];
}
// CHECK: kb.nest @_Z4flat{{.*}} extents [{{.*}} : M>, {{.*}} : N>] {{.*}} requires [{{.*}}16 - (bdim.x floordiv 16)>{{.*}}gdim.y * 16 - M>
__global__ void flat(float *c, const float *a, const float *b, int M, int N, int K) {
  int row = blockIdx.y * 16 + threadIdx.x / 16, col = blockIdx.x * 16 + threadIdx.x % 16;
  if (row >= M || col >= N)
    return;
  float s = 0;
  for (int k = 0; k < K; ++k)
    s += a[row * K + k] * b[k * N + col];
  c[row * N + col] = s;
}
// The number of the tile is used by itself.
// CHECK: kb.nest @_Z5tiles{{.*}} dims ["y", "x"] extents [{{.*}} : bdim.y>, {{.*}} : gdim.x>]
__global__ void tiles(float *c, const float *scale) {
  int row = blockIdx.x * 32 + threadIdx.y;
  c[row] = scale[blockIdx.x];
}
