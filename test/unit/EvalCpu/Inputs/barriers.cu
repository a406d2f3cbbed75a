// Kernels that wait at barriers in every way, each called as (in, out, n) with one int per thread
// in both arrays. They are free of races, so that every order of threads gives the same.
#include <cassert>
#include <cstdio>
#include <cuda_fp16.h>

#define KERNEL(name) extern "C" __global__ void name(const int *in, int *out, int n)

__device__ int linearThread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ int blockThreads() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ int globalThread() { return blockIdx.x * blockThreads() + linearThread(); }

KERNEL(uniformLoop) {
  __shared__ int box[1024];
  int t = linearThread(), size = blockThreads(), sum = in[globalThread()];
  for (int k = 0; k < n % 7; ++k) {
    box[t] = sum + k;
    __syncthreads();
    sum += box[(t + k + 1) % size];
    __syncthreads();
  }
  out[globalThread()] = sum;
}

KERNEL(bothBranches) {
  __shared__ int box[1024];
  int t = linearThread(), size = blockThreads(), v = in[globalThread()];
  box[t] = v;
  if (n & 1) {
    __syncthreads();
    v = box[size - 1 - t] * 3;
  } else {
    v -= 5;
    __syncthreads();
    v += box[(t + 1) % size];
    __syncthreads();
    box[t] = v;
    __syncthreads();
    v ^= box[t / 2];
  }
  out[globalThread()] = v;
}

KERNEL(earlyReturn) {
  __shared__ int box[1024];
  int t = linearThread(), i = globalThread();
  if (i >= n)
    return;
  box[t] = in[i];
  __syncthreads();
  if (t > 0)
    out[i] = box[t] + box[t - 1];
  if (i % 3 == 0)
    return;
  __syncthreads();
  box[t] += 100;
  __syncthreads();
  out[i] = box[t] * 2;
}

struct Row {
  int *place;
  char tag;
  double weight;
};

KERNEL(localArrays) {
  __shared__ int box[1024];
  int t = linearThread(), size = blockThreads(), i = globalThread();
  int own[12], other[5] = {1, 2, 3, 4, 5};
  for (int k = 0; k < 12; ++k)
    own[k] = in[i] * k;
  Row row = {&own[(in[i] & 7) + 1], char(t), t * 0.5};
  box[t] = own[n & 7];
  __syncthreads();
  *row.place += box[(t + 1) % size];
  int *chosen = in[i] & 1 ? own : other;
  chosen[n & 3] += 7;
  __syncthreads();
  int sum = row.tag + int(row.weight);
  for (int k = 0; k < 12; ++k)
    sum = sum * 3 + own[k];
  out[i] = sum + other[n & 3] + chosen[1];
}

KERNEL(breaks) {
  __shared__ int level;
  int t = linearThread(), turns = 0, v = in[globalThread()];
  if (t == 0)
    level = 0;
  while (true) {
    __syncthreads();
    if (level > n % 50)
      break;
    ++turns;
    if (turns % 3 == 1) {
      v += level;
      __syncthreads();
      if (t == 0)
        level += 2;
      continue;
    }
    __syncthreads();
    if (t == 0)
      level += turns;
    v ^= turns;
  }
  out[globalThread()] = v * 100 + turns;
}

KERNEL(nested) {
  __shared__ int box[1024];
  int t = linearThread(), size = blockThreads(), v = in[globalThread()];
  for (int a = 0; a < n % 4; ++a) {
    box[t] = v;
    for (int b = a; b < 3; ++b) {
      __syncthreads();
      int seen = box[(t + b) % size];
      for (int c = 0; c < t % 5; ++c)
        v += seen >> c;
      __syncthreads();
      box[t] = v - b;
    }
    __syncthreads();
    v += box[(t + a) % size];
    __syncthreads();
  }
  out[globalThread()] = v;
}

__device__ __noinline__ int scanBlock(int v, int *box) {
  int t = linearThread(), size = blockThreads();
  for (int step = 1; step < size; step *= 2) {
    box[t] = v;
    __syncthreads();
    if (t >= step)
      v += box[t - step];
    __syncthreads();
  }
  return v;
}

KERNEL(callsFunctions) {
  __shared__ int box[1024];
  int first = scanBlock(in[globalThread()], box);
  int second = scanBlock(first & 15, box);
  out[globalThread()] = first + 1000 * second + n;
}

KERNEL(remembersTypes) {
  int t = linearThread(), i = globalThread();
  bool flag = in[i] & 1;
  char byte = in[i];
  long long wide = (long long)in[i] << 33;
  double real = in[i] * 0.25;
  float4 vector = make_float4(in[i], t, n, 1);
  __half half = __int2half_rn(in[i] & 63);
  const int *pointer = in + (in[i] & 1 ? i : 0);
  __syncthreads();
  int v = flag + byte + int(wide >> 33) + int(real * 4) + int(vector.x + vector.y + vector.z);
  __syncthreads();
  out[i] = v + __half2int_rn(half) + *pointer + int(vector.w);
}

struct Pair {
  int left[3];
  int right;
};

// Has a parameter by value that it changes, and one that it reads.
extern "C" __global__ void structures(const int *in, int *out, int n, Pair changed, Pair fixed) {
  int i = globalThread();
  changed.left[i % 3] += in[i];
  __syncthreads();
  changed.right += changed.left[(i + n) % 3] + fixed.left[i % 3];
  __syncthreads();
  out[i] = changed.right * 10 + fixed.right + changed.left[0];
}

// Barriers at different places that meet, as they do on a chip.
KERNEL(meetsElsewhere) {
  __shared__ int box[1024];
  int t = linearThread(), size = blockThreads(), v = in[globalThread()];
  box[t] = v;
  if (t % 3 == 0) {
    __syncthreads();
    v += box[(t + 1) % size];
    for (int k = 0; k < 2; ++k) {
      __syncthreads();
      v += k;
    }
  } else {
    __syncthreads();
    v -= box[(t + 2) % size];
    __syncthreads();
    __syncthreads();
  }
  out[globalThread()] = v;
}

KERNEL(endsAtDifferentTimes) {
  int t = linearThread(), v = in[globalThread()];
  for (int k = 0; k <= (t * 7 + n) % 5; ++k) {
    v = v * 3 + k;
    __syncthreads();
  }
  out[globalThread()] = v;
}

KERNEL(reductions) {
  int t = linearThread(), i = globalThread(), v = in[i] & 31, turns = 0;
  if (t == 0 && n % 3 == 0)
    return;
  int odd = __syncthreads_count(v & 1);
  while (__syncthreads_or(v > turns))
    ++turns;
  int all = __syncthreads_and(v < 40), none = __syncthreads_and(t != 5);
  out[i] = odd + 1000 * turns + 100000 * all + 200000 * none;
}

KERNEL(switches) {
  __shared__ int box[1024];
  int t = linearThread(), size = blockThreads(), v = in[globalThread()];
  for (int k = 0; k < 5; ++k) {
    box[t] = v;
    switch ((n + k) % 4) {
    case 0:
      __syncthreads();
      v += box[(t + 1) % size];
      break;
    case 1:
      v *= 3;
    case 2:
      __syncthreads();
      v -= box[(t + 3) % size];
      break;
    default:
      __syncthreads();
    }
    __syncthreads();
  }
  out[globalThread()] = v;
}

__device__ int depthOf(int v) { return v <= 1 ? 1 : depthOf(v / 2) + depthOf(v / 3) + (v & 1); }

KERNEL(recursesBetween) {
  __shared__ int box[1024];
  int t = linearThread(), size = blockThreads();
  box[t] = depthOf(in[globalThread()] & 63);
  __syncthreads();
  out[globalThread()] = depthOf(box[(t + 1) % size]) + n;
}

KERNEL(counts) {
  __shared__ int bins[16];
  extern __shared__ float more[];
  int t = linearThread(), size = blockThreads(), i = globalThread();
  if (t < 16)
    bins[t] = 0;
  more[t] = in[i];
  __syncthreads();
  atomicAdd(&bins[in[i] & 15], 1);
  atomicMax(&bins[(in[i] >> 1) & 15], 3);
  volatile float *seen = more;
  float next = seen[(t + 1) % size];
  __syncthreads();
  out[i] = bins[t & 15] + int(next) + n;
}

KERNEL(tiles) {
  __shared__ float a[8][9], b[8][9];
  int x = threadIdx.x % 8, y = linearThread() / 8 % 8;
  float sum = 0;
  for (int k = 0; k < n % 3 + 1; ++k) {
    if (linearThread() < 64) {
      a[y][x] = in[(k * 64 + linearThread()) % 64] & 7;
      b[x][y] = in[(k * 13 + linearThread()) % 64] & 3;
    }
    __syncthreads();
    for (int j = 0; j < 8; ++j)
      if (linearThread() < 64)
        sum += a[y][j] * b[j][x];
    __syncthreads();
  }
  out[globalThread()] = int(sum);
}

KERNEL(prints) {
  int t = linearThread();
  if (t % 16 == 3)
    printf("%d before\n", t);
  __syncthreads();
  if (t % 20 == 1)
    printf("%d after %d\n", t, in[globalThread()]);
  __syncthreads();
  if (t == 0)
    printf("end %d\n", n);
  out[globalThread()] = t;
}

KERNEL(asserts) {
  __syncthreads();
  assert(linearThread() != 21 || n == 0);
  __syncthreads();
  if (linearThread() == 17)
    __trap();
  out[globalThread()] = 1;
}

KERNEL(neverEnds) {
  for (int k = 0; k < 4 || n; ++k)
    __syncthreads();
  out[globalThread()] = 1;
}

// From here on, operations of warps.

KERNEL(sumsWarps) {
  __shared__ int sums[32];
  int t = linearThread(), v = in[globalThread()];
  for (int step = 16; step > 0; step /= 2)
    v += __shfl_down_sync(~0u, v, step);
  if (t % 32 == 0)
    sums[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = t < (blockThreads() + 31) / 32 ? sums[t] : 0;
    for (int step = 16; step > 0; step /= 2)
      v += __shfl_xor_sync(~0u, v, step);
    if (t == 0)
      sums[0] = v;
  }
  __syncthreads();
  out[globalThread()] = sums[0] + n;
}

KERNEL(asksWarps) {
  int t = linearThread(), v = in[globalThread()], lane = t % 32, all;
  unsigned even = __ballot_sync(~0u, v % 2 == 0);
  int sum = __popc(even) + 100 * __any_sync(~0u, v == n) + 200 * __all_sync(~0u, v >= 0);
  sum += __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, unsigned(v));
  sum ^= __match_any_sync(~0u, v % 4);
  sum += __match_all_sync(~0u, n, &all) + all;
  sum += __shfl_up_sync(~0u, v, 3, 8) + __shfl_sync(~0u, v, lane + n, 16);
  out[globalThread()] = sum;
}

// Halves of a warp that do different things, and come together.
KERNEL(partsWarps) {
  int t = linearThread(), v = in[globalThread()], lane = t % 32;
  if (lane < 16) {
    for (int k = 0; k < n % 5; ++k)
      v += __shfl_xor_sync(0xffff, v, 1 << k % 4);
  } else {
    v -= __shfl_sync(0xffff0000, v, 16);
    __syncwarp(0xffff0000);
    if (lane & 1)
      v += __popc(__ballot_sync(0xaaaa0000, v > 20));
  }
  __syncwarp();
  out[globalThread()] = v + __shfl_down_sync(~0u, v, 16);
}

KERNEL(endsLanes) {
  int t = linearThread(), v = in[globalThread()];
  if (v % 5 == n % 5)
    return;
  v += __shfl_xor_sync(~0u, v, 4);
  if (t % 32 > 20)
    return;
  int seen = __ballot_sync(~0u, v & 1);
  __syncthreads();
  out[globalThread()] = v + __popc(seen) + __shfl_sync(~0u, v, 7);
}

KERNEL(sharesBetweenLanes) {
  __shared__ volatile int box[1024];
  int t = linearThread(), v = in[globalThread()], own[4] = {v, v + 1, v + 2, v + 3};
  for (int k = 0; k < 3 + (t / 32) % 3; ++k) {
    box[t] = own[(n + k) & 3];
    __syncwarp();
    own[k & 3] += box[t ^ 1 < blockThreads() ? t ^ 1 : t];
    __syncwarp();
  }
  double real = own[1] * 0.5;
  v = own[0] + __shfl_sync(~0u, own[2], 0);
  out[globalThread()] = v + int(real) + own[3];
}

KERNEL(waitsForever) {
  int t = linearThread(), v = in[globalThread()];
  if (t % 32 < 8 && n != 1)
    __syncthreads();
  else
    v += __shfl_xor_sync(~0u, v, 1);
  out[globalThread()] = v;
}

KERNEL(leavesItsMask) {
  int v = in[globalThread()];
  if (n > 1 || linearThread() == 0)
    v += __shfl_xor_sync(n == 2 ? 0xffff : ~0u, v, 1);
  out[globalThread()] = v;
}
