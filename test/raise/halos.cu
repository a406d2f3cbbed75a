// Tiles with a halo: which store an element comes from is decided by its index, and stores that copy one place of memory are one load again.
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

// Zeros outside, asked by each store as far as it can happen there.
// CHECK: kb.nest @_Z6padded{{.*}} dims ["g"]
// CHECK: kb.let "sValue" : "float" "0.0f"
// CHECK-NEXT: kb.when "" [] where <over [g, o] with [n] : n + 2 - o - g >= 0, g + o - 3 >= 0 exact>
// CHECK-NEXT: kb.let "sValue" : "" "$0" [{{.*}} : g + o - 3>>] reassigns
// CHECK-NOT: kb.when
// CHECK: kb.store
__global__ void padded(const float *in, float *out, int n) {
  __shared__ float s[128 + 2 * 3];
  int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + 3;
  s[l] = g < n ? in[g] : 0.0f;
  if (threadIdx.x < 3) {
    s[l - 3] = g >= 3 ? in[g - 3] : 0.0f;
    s[l + blockDim.x] = g + blockDim.x < n ? in[g + blockDim.x] : 0.0f;
  }
  __syncthreads();
  if (g < n) {
    float sum = 0;
    for (int o = -3; o <= 3; ++o)
      sum += s[l + o];
    out[g] = sum;
  }
}

// Threads at the edge of a block fill the edges of the tile.
// CHECK: kb.nest @_Z5edges{{.*}} dims ["y", "x"]{{.*}} {
// CHECK: where <over [y, x] : y - 1 >= 0 exact>
// CHECK: where <over [y, x] with [H] : H - y - 2 >= 0 exact>
// CHECK: where <over [y, x] : x - 1 >= 0 exact>
// CHECK: where <over [y, x] with [W] : W - x - 2 >= 0 exact>
// CHECK-NOT: kb.when
// CHECK: kb.store
__global__ void edges(const float *in, float *out, int W, int H) {
  __shared__ float s[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
  if (x < W && y < H) {
    s[ly][lx] = in[y * W + x];
    if (threadIdx.x == 0)
      s[ly][0] = x > 0 ? in[y * W + x - 1] : 0.0f;
    if (threadIdx.x == 15)
      s[ly][17] = x < W - 1 ? in[y * W + x + 1] : 0.0f;
    if (threadIdx.y == 0)
      s[0][lx] = y > 0 ? in[(y - 1) * W + x] : 0.0f;
    if (threadIdx.y == 15)
      s[17][lx] = y < H - 1 ? in[(y + 1) * W + x] : 0.0f;
  }
  __syncthreads();
  if (x < W && y < H)
    out[y * W + x] = 0.5f * s[ly][lx] + 0.125f * (s[ly - 1][lx] + s[ly + 1][lx] + s[ly][lx - 1] + s[ly][lx + 1]);
}

// A block reads more than it writes.
// CHECK: kb.nest @_Z5inner{{.*}} dims ["{{[^"]*}}", "{{[^"]*}}"] extents [#kb.expr<{{[^:]*}} : H - 1>, #kb.expr<{{[^:]*}} : W - 1>]
// CHECK: kb.store
__global__ void inner(const float *in, float *out, int W, int H) {
  __shared__ float s[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 14 + tx, y = blockIdx.y * 14 + ty;
  s[ty][tx] = (x < W && y < H) ? in[y * W + x] : 0.0f;
  __syncthreads();
  if (tx > 0 && tx < 15 && ty > 0 && ty < 15 && x < W && y < H)
    out[y * W + x] = s[ty][tx - 1] + s[ty + 1][tx];
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

// All threads go over its elements one after the other.
// CHECK: kb.nest @_Z4flat{{.*}} dims ["y", "x"]
// CHECK: where <over [y, x, dy, dx] with [r, W, H] : x + dx - r >= 0, W + r - x - dx - 1 >= 0, y + dy - r >= 0, H + r - y - dy - 1 >= 0 exact>
// CHECK: kb.store
__global__ void flat(const float *in, float *out, int r, int W, int H) {
  extern __shared__ float tile[];
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int tw = blockDim.x + 2 * r, th = blockDim.y + 2 * r;
  for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < tw * th; i += blockDim.x * blockDim.y) {
    int ly = i / tw, lx = i % tw;
    int gx = blockIdx.x * blockDim.x + lx - r, gy = blockIdx.y * blockDim.y + ly - r;
    tile[i] = (gx >= 0 && gx < W && gy >= 0 && gy < H) ? in[gy * W + gx] : 0.0f;
  }
  __syncthreads();
  if (x < W && y < H) {
    float s = 0;
    for (int dy = 0; dy <= 2 * r; ++dy)
      for (int dx = 0; dx <= 2 * r; ++dx)
        s += tile[(threadIdx.y + dy) * tw + threadIdx.x + dx];
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

// The block's numbers lie in shared memory, and the launch may have any number of threads.
// CHECK: kb.nest @_Z7numbers{{.*}} dims ["i"] extents [#kb.expr<over [i] : bdim.x * gdim.x>]
// CHECK: kb.let "index" : "int" "$0" [{{.*}}"ids"{{.*}} : t>>]
// CHECK: kb.store <element <argument "sum" {{.*}} : index>> atomic "atomicAdd"
__global__ void numbers(float *sum, const float *x, const int *ids) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ int id[4];
  if (threadIdx.x < 4)
    id[threadIdx.x] = ids[threadIdx.x];
  __syncthreads();
  for (int t = 0; t < 4; ++t)
    atomicAdd(&sum[id[t]], x[i] * t);
}

// Sums of vectors are sums of their parts.
// CHECK: kb.nest @_Z7vectors
// CHECK: kb.over {{.*}} reduction {{.*}} team
// CHECK: kb.reduce "s_x" "add"
// CHECK: kb.reduce "s_y" "add"
// CHECK: kb.store {{.*}} "make_float2(s_x, s_y)"
__global__ void vectors(const float2 *x, float2 *out, int n) {
  __shared__ float2 sm[256];
  int t = threadIdx.x;
  float2 s = make_float2(0, 0);
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) {
    float2 v = x[i];
    s.x += v.x;
    s.y += v.y;
  }
  sm[t] = s;
  __syncthreads();
  for (int h = 128; h > 0; h >>= 1) {
    if (t < h) {
      sm[t].x += sm[t + h].x;
      sm[t].y += sm[t + h].y;
    }
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = sm[0];
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
  padded<<<(n + 127) / 128, 128>>>(in, out, n);
  dim3 block(16, 16), grid((W + 15) / 16, (H + 15) / 16);
  edges<<<grid, block>>>(in, out, W, H);
  inner<<<dim3((W + 13) / 14, (H + 13) / 14), block>>>(in, out, W, H);
  dynamic<<<grid, block, 16 * (16 + 2 * r) * sizeof(float)>>>(in, out, r, W, H);
  flat<<<grid, block, (16 + 2 * r) * (16 + 2 * r) * sizeof(float)>>>(in, out, r, W, H);
  unfilled<<<n / 64, 64>>>(out, in);
  left<<<n / 64, 64>>>(out, in, n);
  twoKinds<<<dim3(W / 16, W / 16), block>>>(in, out, W);
}
