// A kernel whose last block ends the sum is two nests, one after the other.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// CHECK: kb.sequence @_Z3sum{{.*}} counter "arrived" {
// CHECK: kb.nest @_Z3sum{{.*}} dims ["x"]
// CHECK: kb.store <element <argument "partial"
// CHECK: kb.nest @_Z3sum{{.*}} dims []
// CHECK: kb.over "i" reduction extent <: gdim.x>
// CHECK-NEXT: kb.reduce {{.*}} "$0" [{{.*}}"partial"
// CHECK: kb.store <element <argument "out"
__device__ unsigned int arrived = 0;
__global__ void sum(const float *in, float *partial, float *out, int n) {
  __shared__ float s[256];
  __shared__ bool isLast;
  float mine = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    mine += in[i];
  s[threadIdx.x] = mine;
  __syncthreads();
  for (int h = 128; h > 0; h /= 2) {
    if (threadIdx.x < h)
      s[threadIdx.x] += s[threadIdx.x + h];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    unsigned int ticket = atomicInc(&arrived, gridDim.x);
    isLast = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (isLast) {
    mine = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += 256)
      mine += partial[i];
    s[threadIdx.x] = mine;
    __syncthreads();
    for (int h = 128; h > 0; h /= 2) {
      if (threadIdx.x < h)
        s[threadIdx.x] += s[threadIdx.x + h];
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      *out = s[0];
      arrived = 0;
    }
  }
}

// The count is a parameter, thread 0 alone goes on, and the partial results are volatile.
// CHECK: kb.sequence @_Z6serial{{.*}} counter "*count" {
// CHECK: kb.store <element <argument "partial"
// CHECK: kb.nest @_Z6serial{{.*}} dims []
// CHECK: kb.store <element <argument "out"
__global__ void serial(const double *in, volatile double *partial, double *out, int *count) {
  __shared__ double s[128];
  s[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  for (int h = 64; h > 0; h >>= 1) {
    __syncthreads();
    if (threadIdx.x < h)
      s[threadIdx.x] += s[threadIdx.x + h];
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    if (atomicAdd(count, 1) == gridDim.x - 1) {
      double all = 0;
      for (int b = 0; b < gridDim.x; ++b)
        all += partial[b];
      out[0] = all;
      *count = 0;
    }
  }
}

// Others leave. The count goes back to 0 by itself.
// CHECK: kb.sequence @_Z4most{{.*}} counter "*count" {
// CHECK: kb.nest @_Z4most{{.*}} dims []
// CHECK: kb.reduce {{.*}} "max"
__global__ void most(const float *in, float *partial, float *out, unsigned *count, int n) {
  __shared__ float s[128];
  __shared__ unsigned ticket;
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t] = i < n ? in[i] : -1e30f;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h)
      s[t] = fmaxf(s[t], s[t + h]);
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    ticket = atomicInc(&count[0], gridDim.x - 1);
  }
  __syncthreads();
  if (ticket != gridDim.x - 1)
    return;
  float m = -1e30f;
  for (int k = t; k < gridDim.x; k += 128)
    m = fmaxf(m, partial[k]);
  s[t] = m;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h)
      s[t] = fmaxf(s[t], s[t + h]);
    __syncthreads();
  }
  if (t == 0)
    out[0] = s[0];
}

// The number of blocks is an argument: the launch tests it.
// CHECK: kb.sequence @_Z5count{{.*}} {
// CHECK: requires [{{.*}}blocks - gdim.x{{.*}}gdim.x - blocks
// CHECK: kb.nest @_Z5count{{.*}} dims []
__global__ void count(const float *in, float *partial, float *out, unsigned *done, int blocks) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i];
  for (int o = 16; o > 0; o /= 2)
    v += __shfl_down_sync(0xffffffff, v, o);
  bool ends = false;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = v;
    __threadfence();
    ends = atomicAdd(done, 1) + 1 == blocks;
  }
  if (ends && threadIdx.x == 0) {
    float all = 0;
    for (int b = 0; b < blocks; ++b)
      all += partial[b];
    out[0] = sqrtf(all);
    atomicExch(done, 0);
  }
}

// The thread that took the ticket goes on alone, since the others do not know of it.
// CHECK: kb.sequence @_Z4only
// CHECK: kb.nest @_Z4only{{.*}} dims []
// CHECK: kb.over "b" {{.*}}extent <: (({{.*}}gdim.x{{.*}} floordiv bdim.x)
__global__ void only(const float *in, float *partial, float *out, unsigned *count) {
  bool isLast = false;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    isLast = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  if (isLast) {
    float all = 0;
    for (int b = threadIdx.x; b < gridDim.x; b += blockDim.x)
      all += partial[b];
    out[0] = all;
  }
}

// Every warp counts, or every thread: the last ticket is not that of the last block.
// CHECK: kb.unraised @_Z5warps{{.*}} "of what all its blocks do: its blocks are counted by threads that are not one of each block"
__global__ void warps(const float *in, float *partial, float *out, unsigned *count) {
  __shared__ bool isLast;
  if (threadIdx.x % 32 == 0) {
    partial[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    isLast = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (isLast && threadIdx.x == 0)
    out[0] = partial[0] + partial[1];
}
// CHECK: kb.sequence @_Z7threads
// CHECK: requires [{{.*}}1 - bdim.x
__global__ void threads(const float *in, float *partial, float *out, unsigned *count) {
  __shared__ bool isLast;
  partial[blockIdx.x] = in[blockIdx.x];
  __threadfence();
  isLast = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (isLast && threadIdx.x == 0)
    out[0] = partial[0] + partial[1];
}

// The count stays, so that another kernel may ask it.
// CHECK: kb.unraised @_Z5stays
__global__ void stays(const float *in, float *partial, float *out, unsigned *count) {
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    if (atomicAdd(count, 1) == gridDim.x - 1) {
      float all = 0;
      for (int b = 0; b < gridDim.x; ++b)
        all += partial[b];
      out[0] = all;
    }
  }
}

// Not the last one, but one before it.
// CHECK: kb.unraised @_Z5early{{.*}} "of what all its blocks do: a block goes on that is not the last one"
__global__ void early(const float *in, float *partial, float *out, unsigned *count) {
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x];
    if (atomicInc(count, gridDim.x - 1) == gridDim.x - 2) {
      float all = 0;
      for (int b = 0; b < gridDim.x; ++b)
        all += partial[b];
      out[0] = all;
    }
  }
}

// The last block asks which one it is, what it had, or what it left in shared memory.
// CHECK: kb.unraised @_Z5which{{.*}} "of what its last block does: its last block uses its number"
__global__ void which(const float *in, float *partial, float *out, unsigned *count) {
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    if (atomicInc(count, gridDim.x - 1) == gridDim.x - 1)
      out[blockIdx.x] = partial[0];
  }
}
// CHECK: kb.unraised @_Z3had
__global__ void had(const float *in, float *partial, float *out, unsigned *count) {
  float mine = in[blockIdx.x];
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = mine;
    __threadfence();
    if (atomicInc(count, gridDim.x - 1) == gridDim.x - 1)
      out[0] = partial[0] + mine;
  }
}
// CHECK: kb.unraised @_Z4left
__global__ void left(const float *in, float *partial, float *out, unsigned *count) {
  __shared__ float s[64];
  __shared__ bool isLast;
  s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[1];
    __threadfence();
    isLast = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (isLast)
    out[threadIdx.x] = s[63 - threadIdx.x] + partial[0];
}

// A thread that has left does not take part in what comes last.
// CHECK: kb.unraised @_Z4gone
__global__ void gone(const float *in, float *partial, float *out, unsigned *count, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n)
    return;
  partial[i] = in[i];
  __threadfence();
  __shared__ bool isLast;
  if (threadIdx.x == 0)
    isLast = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (isLast)
    out[threadIdx.x] = partial[threadIdx.x];
}

void run(const float *x, const double *d, float *p, double *dp, float *y, double *dy, unsigned *c,
         int n) {
  sum<<<64, 256>>>(x, p, y, n);
  serial<<<n / 128, 128>>>(d, dp, dy, (int *)c);
  most<<<(n + 127) / 128, 128>>>(x, p, y, c, n);
  count<<<n / 32, 32>>>(x, p, y, c, n / 32);
  only<<<n, 32>>>(x, p, y, c);
  warps<<<n, 32>>>(x, p, y, c);
  threads<<<n, 1>>>(x, p, y, c);
  stays<<<n, 32>>>(x, p, y, c);
  early<<<n, 32>>>(x, p, y, c);
  which<<<n, 32>>>(x, p, y, c);
  had<<<n, 32>>>(x, p, y, c);
  left<<<n / 64, 64>>>(x, p, y, c);
  gone<<<(n + 63) / 64, 64>>>(x, p, y, c, n);
}
