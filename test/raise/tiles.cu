// Tiles that a block copies into shared memory are gone: products raise to what the simple form of them is.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
#include <cuda_fp16.h>

// The last tile is filled with zeros, which add nothing but that they make -0 a 0.
// CHECK: kb.nest @_Z7guarded{{.*}} dims ["row", "col"] extents [{{.*}} : m>, {{.*}} : n>]{{.*}} requires {{.*}}bdim.y - 16
// CHECK: kb.over "i" reduction extent <{{.*}} : k>
// CHECK-NEXT: kb.reduce "sum" "add" {{.*}}"$0 * $1" [{{.*}}"a" {{.*}} : i + row * k>>, {{.*}}"b" {{.*}} : col + i * n>>]
// CHECK-NEXT: }
// CHECK-NEXT: kb.when "" [] where <{{.*}} : (k mod 16) - 1 >= 0
// CHECK-NEXT: kb.let "sum" : "" "sum + 0.0f" [] reassigns
// CHECK-NEXT: }
// CHECK-NEXT: kb.store
__global__ void guarded(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float tileA[16][16], tileB[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float sum = 0.0f;
  for (int t = 0; t < (k + 15) / 16; ++t) {
    if (row < m && t * 16 + tx < k)
      tileA[ty][tx] = a[row * k + t * 16 + tx];
    else
      tileA[ty][tx] = 0.0f;
    tileB[ty][tx] = t * 16 + ty < k && col < n ? b[(t * 16 + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += tileA[ty][i] * tileB[i][tx];
    __syncthreads();
  }
  if (row < m && col < n)
    c[row * n + col] = sum;
}

// Two counters in one header, and sizes that divide.
// CHECK: kb.nest @_Z5stepsILi32{{.*}} dims ["y", "x"]{{.*}} requires {{.*}}(wa mod 32) * -1
// CHECK: kb.over "i_2" reduction extent <{{.*}} : wa>
// CHECK-NEXT: kb.reduce {{.*}} : i_2 + y * wa>>, {{.*}} : x + i_2 * wb>>]
template <int N> __global__ void steps(float *c, float *a, float *b, int wa, int wb) {
  int tx = threadIdx.x, ty = threadIdx.y, first = wa * N * blockIdx.y, last = first + wa - 1;
  float sum = 0;
  for (int i = first, j = N * blockIdx.x; i <= last; i += N, j += N * wb) {
    __shared__ float as[N][N], bs[N][N];
    as[ty][tx] = a[i + wa * ty + tx];
    bs[ty][tx] = b[j + wb * ty + tx];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N; ++i)
      sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  c[wb * N * blockIdx.y + N * blockIdx.x + wb * ty + tx] = sum;
}

// A line of threads, pointers that move on from tile to tile, and padded rows.
// CHECK: kb.nest @_Z6moving{{.*}} dims ["y", "x"]
// CHECK: kb.over "i" reduction extent <{{.*}} : k>
// CHECK-NEXT: kb.reduce {{.*}} : i + y * k>>, {{.*}} : x + i * n>>]
// CHECK: kb.store {{.*}}"alpha * sum + beta * $0"
__global__ void moving(int n, int k, float alpha, const float *a, const float *b, float beta, float *c) {
  __shared__ float as[32 * 33], bs[32 * 33];
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  a += blockIdx.y * 32 * k;
  b += blockIdx.x * 32;
  c += blockIdx.y * 32 * n + blockIdx.x * 32;
  float sum = 0.0f;
  for (int t = 0; t < k; t += 32) {
    as[ty * 33 + tx] = a[ty * k + tx];
    bs[ty * 33 + tx] = b[ty * n + tx];
    __syncthreads();
    a += 32;
    b += 32 * n;
    for (int i = 0; i < 32; ++i)
      sum += as[ty * 33 + i] * bs[i * 33 + tx];
    __syncthreads();
  }
  c[ty * n + tx] = alpha * sum + beta * c[ty * n + tx];
}

// One array for both tiles, which the launch sizes; halves; A times B transposed.
// CHECK: kb.nest @_Z7dynamic{{.*}} dims ["row", "col"] extents [{{.*}} : m>, {{.*}} : n>]
// CHECK: kb.reduce "sum" "add" {{.*}}"__half2float($0) * __half2float($1)" [{{.*}} : i + row * k>>, {{.*}} : i + col * k>>]
__global__ void dynamic(const half *a, const half *b, half *c, int m, int n, int k) {
  extern __shared__ half tiles[];
  half *as = tiles, *bs = tiles + 16 * 17;
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float sum = 0.0f;
  for (int t = 0; t < k; t += 16) {
    as[ty * 17 + tx] = row < m && t + tx < k ? a[row * k + t + tx] : __float2half(0.0f);
    int other = blockIdx.x * 16 + ty;
    bs[ty * 17 + tx] = other < n && t + tx < k ? b[other * k + t + tx] : __float2half(0.0f);
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += __half2float(as[ty * 17 + i]) * __half2float(bs[tx * 17 + i]);
    __syncthreads();
  }
  if (row < m && col < n)
    c[row * n + col] = __float2half(sum);
}

// Differences of zeros add nothing either. A block of 8 rows fills a tile of 32 in turns.
// CHECK: kb.nest @_Z9distances{{.*}} dims ["p", "q"] extents [{{.*}} : n>, {{.*}} : n>]
// CHECK: kb.over "j" reduction extent <{{.*}} : d>
// CHECK: kb.store {{.*}}"sqrt(sum)"
__global__ void distances(const double *x, double *out, int n, int d) {
  __shared__ double ps[8][32], qs[32][33];
  int tx = threadIdx.x, ty = threadIdx.y, p = blockIdx.y * 8 + ty, q = blockIdx.x * 32 + tx;
  double sum = 0.0;
  for (int t = 0; t < d; t += 32) {
    ps[ty][tx] = p < n && t + tx < d ? x[p * d + t + tx] : 0.0;
    for (int r = ty; r < 32; r += 8) {
      int row = blockIdx.x * 32 + r;
      qs[r][tx] = row < n && t + tx < d ? x[row * d + t + tx] : 0.0;
    }
    __syncthreads();
    for (int j = 0; j < 32; ++j) {
      double difference = ps[ty][j] - qs[tx][j];
      sum += difference * difference;
    }
    __syncthreads();
  }
  if (p < n && q < n)
    out[p * n + q] = sqrt(sum);
}

// A thread has 4 x 2 outputs in registers: rows and columns of the product.
// CHECK: kb.nest @_Z7blocked{{.*}} dims ["{{row[_0-9]*}}", "column"] extents [{{.*}} : m>, {{.*}} : n>]
// CHECK: kb.over "i_2" reduction extent <{{.*}} : k>
// CHECK-NEXT: kb.reduce {{.*}} : i_2 + row_{{[0-9]+}} * k>>, {{.*}} : column + i_2 * n>>]
// CHECK: kb.store {{.*}} : column + row_{{[0-9]+}} * n>>
__global__ void blocked(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float as[64][8], bs[8][32];
  int t = threadIdx.x, ty = t / 16, tx = t % 16;
  float sums[4][2] = {0};
  for (int k0 = 0; k0 < k; k0 += 8) {
    for (int e = t; e < 64 * 8; e += 256) {
      int r = e / 8, i = e % 8;
      as[r][i] = blockIdx.y * 64 + r < m && k0 + i < k ? a[(blockIdx.y * 64 + r) * k + k0 + i] : 0.0f;
    }
    bs[t / 32][t % 32] =
        blockIdx.x * 32 + t % 32 < n && k0 + t / 32 < k ? b[(k0 + t / 32) * n + blockIdx.x * 32 + t % 32] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 8; ++i) {
      float fromA[4], fromB[2];
      for (int r = 0; r < 4; ++r)
        fromA[r] = as[ty * 4 + r][i];
      for (int q = 0; q < 2; ++q)
        fromB[q] = bs[i][tx * 2 + q];
      for (int r = 0; r < 4; ++r)
        for (int q = 0; q < 2; ++q)
          sums[r][q] += fromA[r] * fromB[q];
    }
    __syncthreads();
  }
  for (int r = 0; r < 4; ++r)
    for (int q = 0; q < 2; ++q) {
      int row = blockIdx.y * 64 + ty * 4 + r, col = blockIdx.x * 32 + tx * 2 + q;
      if (row < m && col < n)
        c[row * n + col] = sums[r][q];
    }
}

// Threads that only fill the edge of a window.
// CHECK: kb.nest @_Z6window{{.*}} dims ["oy", "ox"] extents [{{.*}} : h>, {{.*}} : w>]
// CHECK: kb.store {{.*}} : ox + oy * w>>
__global__ void window(const float *x, float *y, int h, int w) {
  __shared__ float tile[18][18];
  int tx = threadIdx.x, ty = threadIdx.y, ox = blockIdx.x * 16 + tx, oy = blockIdx.y * 16 + ty, ix = ox - 1, iy = oy - 1;
  tile[ty][tx] = iy >= 0 && iy < h && ix >= 0 && ix < w ? x[iy * w + ix] : 0.0f;
  __syncthreads();
  if (tx < 16 && ty < 16 && ox < w && oy < h) {
    float sum = 0.0f;
    for (int r = 0; r < 3; ++r)
      for (int s = 0; s < 3; ++s)
        sum += tile[ty + r][tx + s];
    y[oy * w + ox] = sum;
  }
}

// A transposition.
// CHECK: kb.nest @_Z9transpose
// CHECK-NEXT: kb.store <element <argument "out" {{.*}}"$0" [{{.*}}"in"
__global__ void transpose(float *out, const float *in, int width, int height) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  if (x < width && y < height)
    tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  if (x < height && y < width)
    out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

void run(const half *ha, half *hc, const float *a, float *b, float *c, double *d, int n) {
  dim3 block(16, 16), wide(32, 32);
  guarded<<<dim3(n / 16, n / 16), block>>>(a, b, c, n, n, n);
  steps<32><<<dim3(n / 32, n / 32), wide>>>(c, b, b, n, n);
  moving<<<dim3(n / 32, n / 32), 1024>>>(n, n, 1, a, b, 0, c);
  dynamic<<<dim3(n / 16, n / 16), block, 2 * 16 * 17 * sizeof(half)>>>(ha, ha, hc, n, n, n);
  distances<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(d, d + n * n, n, n);
  blocked<<<dim3(n / 32, n / 64), 256>>>(a, b, c, n, n, n);
  window<<<dim3(n / 16, n / 16), dim3(18, 18)>>>(a, c, n, n);
  transpose<<<dim3(n / 32, n / 32), wide>>>(c, a, n, n);
}
