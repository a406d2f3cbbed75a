// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// Blocks that share out one sum, and sums that a library forms.

#include <cub/cub.cuh>

// CHECK-LABEL: kb.nest @_Z5parts
// CHECK: kb.over "i_round" reduction extent <over [x_] with [n] : {{.*}} floordiv (gdim.x * 256){{.*}}> team
// CHECK-NEXT: kb.over "i" reduction extent <over [x_, i_round] : 256> team
// CHECK-NEXT: kb.when "" [] where <over [x_, i_round, i] with [n] : n - x_ * 256 - i - i_round * gdim.x * 256 - 1 >= 0 exact>
// CHECK: kb.store {{.*}} at <over [x_] : x_>> "sum" []
__global__ void parts(float *y, const float *x, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += x[i];
  __shared__ float part[256];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int h = 128; h > 0; h /= 2) {
    if (threadIdx.x < h)
      part[threadIdx.x] += part[threadIdx.x + h];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = part[0];
}

// CHECK-LABEL: kb.nest @_Z4rows
// CHECK-SAME: #kb.expr<over [x_] : bdim.x - 128>, #kb.expr<over [x_] : 128 - bdim.x>
// CHECK: kb.over "j" reduction extent <over [x_] with [m] : m> team
__global__ void rows(float *y, const float *x, int m) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  float sum = 0.0f;
  for (int j = threadIdx.x; j < m; j += blockDim.x)
    sum += x[blockIdx.x * m + j];
  sum = Reduce(storage).Sum(sum);
  if (threadIdx.x == 0)
    y[blockIdx.x] = sum;
}

// CHECK-LABEL: kb.nest @_Z5sines
// CHECK: kb.let "s" : "" "sinf(angle)" [] reassigns
// CHECK-NEXT: kb.let "c" : "" "cosf(angle)" [] reassigns
__global__ void sines(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s, c;
  if (i < n) {
    sincosf(x[i], &s, &c);
    y[i] = s * c;
  }
}
