// Tiles with a halo: which store an element comes from is decided by its index, and stores that copy one place of memory are one load again. More
// of them, with what they compute, are in passes/structure/schedule/test/halos.cu.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// The middle and the two ends, each by a store of its own.
// CHECK: kb.nest @_Z5three{{.*}} dims ["x"]
// CHECK-NOT: kb.when
// CHECK: kb.reduce "sum" {{.*}}"$0" [{{.*}}"in"{{.*}} : x + o>>]
// CHECK: kb.store
__global__ void three(const float *in, float *out) {
  __shared__ float s[128 + 2 * 3];
  int g = blockIdx.x * 128 + threadIdx.x + 3, l = threadIdx.x + 3;
  s[l] = in[g];
  if (threadIdx.x < 3) {
    s[l - 3] = in[g - 3];
    s[l + 128] = in[g + 128];
  }
  __syncthreads();
  float sum = 0;
  for (int o = -3; o <= 3; ++o)
    sum += s[l + o];
  out[g] = sum;
}

// The launch sizes the tile: rows of blockDim.x + 2 * r elements.
// CHECK: kb.nest @_Z7dynamic{{.*}} dims ["y", "x"]
// CHECK: kb.over "k" reduction extent <over [y, x] with [r] : r * 2 + 1>
// CHECK: where <over [y, x, k] with [r, W] : x + k - r >= 0, W + r - x - k - 1 >= 0 exact>
// CHECK: kb.store
__global__ void dynamic(const float *in, float *out, int r, int W, int H) {
  extern __shared__ float tile[];
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int span = blockDim.x + 2 * r;
  for (int i = threadIdx.x; i < span; i += blockDim.x) {
    int g = blockIdx.x * blockDim.x + i - r;
    tile[threadIdx.y * span + i] = (g >= 0 && g < W && y < H) ? in[y * W + g] : 0.0f;
  }
  __syncthreads();
  if (x < W && y < H) {
    float s = 0;
    for (int k = 0; k <= 2 * r; ++k)
      s += tile[threadIdx.y * span + threadIdx.x + k];
    out[y * W + x] = s;
  }
}

// The last element is read, and nothing stored it.
// CHECK: kb.nest @_Z8unfilled{{.*}} filled ["copy"] {
__global__ void unfilled(float *y, const float *x) {
  __shared__ float copy[64];
  if (threadIdx.x < 63)
    copy[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = copy[(threadIdx.x + 1) % 64];
}

// What the tile before left there is not undefined.
// CHECK: kb.unraised @_Z4left
__global__ void left(float *y, const float *x, int n) {
  __shared__ float copy[64];
  float sum = 0;
  copy[threadIdx.x] = 1.0f;
  __syncthreads();
  for (int t = 0; t < n; ++t) {
    if (threadIdx.x < 63)
      copy[threadIdx.x] = x[t * 64 + threadIdx.x];
    __syncthreads();
    sum += copy[63 - threadIdx.x];
    __syncthreads();
  }
  y[blockIdx.x * 64 + threadIdx.x] = sum;
}

// No launch says how many threads a block has, and a block may have less than four.
// CHECK: kb.nest @_Z7unsized{{.*}} dims ["i"] extents [#kb.expr<over [i] : bdim.x * gdim.x>]{{.*}} filled ["id"]
// CHECK: kb.let "index" {{.*}}"ids"{{.*}} : 3>>]
__global__ void unsized(float *y, const float *x, const int *ids) {
  __shared__ int id[4];
  if (threadIdx.x < 4)
    id[threadIdx.x] = ids[threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[id[3] + i];
}

// Two outputs of different kinds.
// CHECK: kb.nest @_Z8twoKinds{{.*}} dims ["y", "x"]
// CHECK: kb.store {{.*}} : y + x * n>> "$0" [{{.*}}"a"{{.*}} : x + y * n>>]
// CHECK: kb.store {{.*}} "2 * $0" [
__global__ void twoKinds(const float *a, float *c, int n) {
  __shared__ float as[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  as[ty][tx] = a[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx];
  __syncthreads();
  c[(blockIdx.x * 16 + ty) * n + blockIdx.y * 16 + tx] = as[tx][ty];
  c[n * n + (blockIdx.x * 16 + ty) * n + blockIdx.y * 16 + tx] = 2 * as[tx][ty];
}

void run(const float *in, float *out, int r, int W, int H, int n) {
  three<<<n / 128, 128>>>(in, out);
  dim3 block(16, 16), grid((W + 15) / 16, (H + 15) / 16);
  dynamic<<<grid, block, 16 * (16 + 2 * r) * sizeof(float)>>>(in, out, r, W, H);
  unfilled<<<n / 64, 64>>>(out, in);
  left<<<n / 64, 64>>>(out, in, n);
  twoKinds<<<dim3(W / 16, W / 16), block>>>(in, out, W);
}
