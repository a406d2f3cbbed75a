// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// A tree in shared memory; the threads' parts are stored and loaded.
__global__ void rowMax(float *y, const float *x, int n) {
  __shared__ float part[128];
  int row = blockIdx.x, t = threadIdx.x;
  float top = -INFINITY;
  for (int i = t; i < n; i += 128)
    top = fmaxf(top, x[row * n + i]);
  part[t] = top;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h)
      part[t] = fmaxf(part[t], part[t + h]);
    __syncthreads();
  }
  top = part[0];
  for (int i = t; i < n; i += 128)
    y[row * n + i] = x[row * n + i] - top;
}
// CHECK: kb.nest @_Z6rowMaxPfPKfi dims ["row"] extents [#kb.expr<over [row] : gdim.x>]
// CHECK-SAME: bdim.x - 128>, #kb.expr<over [row] : 128 - bdim.x>
// CHECK-NEXT: kb.let "top" : "float" "-INFINITY"
// CHECK-NEXT: kb.over "i" reduction extent <over [row] with [n] : n> team {
// CHECK-NEXT: kb.reduce "top" "max" "fmaxf(%a, %b)" identity "-INFINITY" "$0"
// CHECK-NEXT: }
// CHECK-NEXT: kb.over "i_2" any extent <over [row] with [n] : n> team {
// CHECK-NEXT: kb.store {{.*}} "$0 - top"

// Any power of two as the block's size.
__global__ void rowSum(float *y, const float *x, int n) {
  extern __shared__ float part[];
  int row = blockIdx.x, t = threadIdx.x;
  float s = 0.0f;
  for (int i = t; i < n; i += blockDim.x)
    s += x[row * n + i];
  part[t] = s;
  for (int h = blockDim.x / 2; h >= 1; h >>= 1) {
    __syncthreads();
    if (t < h)
      part[t] += part[t + h];
  }
  if (t == 0)
    y[row] = part[0];
}
// CHECK: kb.nest @_Z6rowSumPfPKfi dims ["row"]
// CHECK-SAME: 1024 mod bdim.x
// CHECK: kb.reduce "s" "add"
// CHECK: kb.store {{.*}} "s" []

// One element a thread; strides that grow.
__global__ void blockSum(float *y, const float *x, int n) {
  __shared__ float values[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  values[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int h = 1; h < 256; h *= 2) {
    if (threadIdx.x % (2 * h) == 0)
      values[threadIdx.x] += values[threadIdx.x + h];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = values[0];
}
// CHECK: kb.nest @_Z8blockSumPfPKfi
// CHECK: kb.let "valuesSum" : "float" "0.0f"
// CHECK-NEXT: kb.over "t" reduction extent <over {{.*}} : 256> team {
// CHECK: kb.reduce "valuesSum" "add"
// CHECK: kb.store {{.*}} "valuesSum" []

// One warp a row, all lanes get the sum.
__global__ void warpRows(float *y, const float *x, int rows, int n) {
  int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows)
    return;
  float s = 0.0f;
  for (int i = lane; i < n; i += 32)
    s += x[row * n + i];
  for (int h = 16; h > 0; h /= 2)
    s += __shfl_xor_sync(0xffffffff, s, h);
  for (int i = lane; i < n; i += 32)
    y[row * n + i] = x[row * n + i] / s;
}
// CHECK: kb.nest @_Z8warpRowsPfPKfii dims ["row"] extents [#kb.expr<over [row] with [rows] : rows>]
// CHECK-SAME: gdim.x * (bdim.x floordiv 32) - rows
// CHECK: kb.reduce "s" "add"
// CHECK: kb.store {{.*}} "$0 / s"

// Groups of eight lanes, without a loop over the offsets; only the first lane has the sum.
__global__ void groupRows(float *y, const float *x, int rows, int n) {
  int lane = threadIdx.x & 7, row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
  if (row >= rows)
    return;
  float s = 0.0f;
  for (int i = lane; i < n; i += 8)
    s += x[row * n + i];
  s += __shfl_down_sync(0xffffffff, s, 4, 8);
  s += __shfl_down_sync(0xffffffff, s, 2, 8);
  s += __shfl_down_sync(0xffffffff, s, 1, 8);
  if (lane == 0)
    y[row] = s;
}

// CHECK: kb.nest @_Z9groupRowsPfPKfii dims ["row"]
// CHECK: kb.store {{.*}} "s" []

// Warps first, then the warps' sums.
__global__ void twoLevels(float *y, const float *x, int n) {
  __shared__ float part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float s = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    s += x[blockIdx.x * n + i];
  for (int h = 16; h > 0; h /= 2)
    s += __shfl_down_sync(0xffffffff, s, h);
  if (lane == 0)
    part[warp] = s;
  __syncthreads();
  s = lane < blockDim.x / 32 ? part[lane] : 0.0f;
  for (int h = 16; h > 0; h /= 2)
    s += __shfl_xor_sync(0xffffffff, s, h);
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[blockIdx.x * n + i] = x[blockIdx.x * n + i] / s;
}
// CHECK: kb.nest @_Z9twoLevelsPfPKfi
// CHECK-SAME: (bdim.x mod 32) * -1
// CHECK: kb.reduce "s" "add"
// CHECK: kb.store {{.*}} "$0 / s"

// Each thread has a value of its own before the threads combine them, in functions that change
// their parameters: what they combine to is declared where it is used.
__device__ float warpSum(float v) {
  for (int h = 16; h > 0; h /= 2)
    v += __shfl_down_sync(0xffffffff, v, h);
  return v;
}
__device__ float allSum(float v) {
  __shared__ float part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warpSum(v);
  if (lane == 0)
    part[warp] = v;
  __syncthreads();
  float sum = 0.0f;
  if (warp == 0) {
    sum = lane < blockDim.x / 32 ? part[lane] : 0.0f;
    sum = warpSum(sum);
  }
  return sum;
}
__global__ void guardedSums(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float own = 0.0f;
  if (i < n) {
    float square = x[i] * x[i];
    if (square > 1.0f)
      own = square;
  }
  float sum = allSum(own);
  if (threadIdx.x == 0)
    y[blockIdx.x] = sum;
}
// CHECK: kb.nest @_Z11guardedSumsPfPKfi
// CHECK: kb.reduce "v_2Sum" "add" {{.*}} "own_2" []
// CHECK-NEXT: }
// CHECK-NEXT: kb.let "sum" : "float" "0.0f" []
// CHECK-NEXT: kb.let "sum" : "" "v_2Sum" [] reassigns

void launch(float *y, const float *x, int rows, int n) {
  rowMax<<<rows, 128>>>(y, x, n);
  rowSum<<<rows, 128, 512>>>(y, x, n);
  blockSum<<<(n + 255) / 256, 256>>>(y, x, n);
  warpRows<<<(rows + 7) / 8, 256>>>(y, x, rows, n);
  groupRows<<<(rows + 31) / 32, 256>>>(y, x, rows, n);
  twoLevels<<<rows, 256>>>(y, x, n);
  guardedSums<<<(n + 255) / 256, 256>>>(y, x, n);
}
