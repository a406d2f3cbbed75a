// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// RUN: kb-opt -passes=schedule --quiet -o %t.cu %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s
// REQUIRES: sandbox, long
// Branches that go the same way in the whole launch, shared memory that is declared as bytes, and elements that lie a stride apart.

#include <cstdio>
#include <cub/cub.cuh>
#include <vector>

// JUDGE: CPU device checks passed
// JUDGE: correct

// Each side has a loop of its own; the nest is that of the first, and requires its condition.
// CHECK-LABEL: kb.nest @_Z4mask{{.*}} dims ["i", "j", "k"] {{.*}} requires [{{.*}} with [batch] : batch - 1>
__global__ void mask(const float *in, const int *lengths, float *out, int batch, int rows, int columns) {
  if (batch > 0) {
    for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < batch * rows * columns; index += blockDim.x * gridDim.x) {
      int k = index % columns, j = (index - k) / columns % rows, i = (index - columns * j - k) / (rows * columns);
      int place = rows * columns * i + columns * j + k;
      out[place] = k >= lengths[j] ? 0.0f : in[place];
    }
  } else {
    for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < rows * columns; index += blockDim.x * gridDim.x) {
      int i = index / columns, j = index % columns;
      out[index] = j >= lengths[i] ? 0.0f : in[index];
    }
  }
}

// The condition differs between blocks. With more than two of them, it is a race.
// CHECK: kb.nest @_Z5mixed{{.*}} racefree ["out"]
__global__ void mixed(const float *in, float *out, int n) {
  if (blockIdx.x > 0) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
      out[i] = in[i];
  } else {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
      out[i] = 2.0f * in[i];
  }
}

// CHECK-LABEL: kb.nest @_Z7rowSums
// CHECK: kb.reduce "sum" "add"
template <class T> __global__ void rowSums(const T *in, T *out, int n) {
  extern __shared__ unsigned char memory[];
  T *part = reinterpret_cast<T *>(memory);
  T sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += in[blockIdx.x * n + i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s)
      part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = part[0];
}

// CHECK: kb.unraised @_Z7several{{.*}} "the shared memory 'bytes' is used as elements of several types"
__global__ void several(const float *in, float *out) {
  extern __shared__ unsigned char bytes[];
  float *part = (float *)bytes;
  part[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  bytes[4 * threadIdx.x + 3] = 0;
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x];
}

// CHECK-LABEL: kb.nest @_Z5cross{{.*}} requires [{{.*}} with [stride] : stride - 1>, {{.*}} with [stride] : 3 - stride * 3>
__global__ void cross(const float *a, const float *b, float *out, int n, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  out[3 * i] = a[3 * i + 1] * b[3 * i + 2] - a[3 * i + 2] * b[3 * i + 1];
  out[3 * i + stride] = a[3 * i + 2] * b[3 * i] - a[3 * i] * b[3 * i + 2];
  out[3 * i + 2 * stride] = a[3 * i] * b[3 * i + 1] - a[3 * i + 1] * b[3 * i];
}

// Elements of one thread that lie a block apart.
// CHECK-LABEL: kb.nest @_Z6spread{{.*}} requires [{{.*}} : 64 - bdim.x>]
__global__ void spread(const float *in, float *out) {
  int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = 2.0f * in[i];
  out[i + 64] = 3.0f * in[i + 64];
  out[i + 128] = 4.0f * in[i + 128];
  out[i + 192] = 5.0f * in[i + 192];
}
// CHECK: kb.unraised @_Z6closer{{.*}} "different threads may touch the same element of 'out'"
__global__ void closer(const float *in, float *out) {
  int i = blockIdx.x * 256 + 2 * threadIdx.x;
  out[i] = 2.0f * in[i];
  out[i + 64] = 3.0f * in[i + 64];
}

struct Largest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Max {
  __device__ float operator()(float a, float b) const { return fabsf(a) > fabsf(b) ? a : b; }
};
// CHECK-LABEL: kb.nest @_Z7largest
// CHECK: kb.reduce "top" "max"
__global__ void largest(const float *in, float *out, int n) {
  typedef cub::BlockReduce<float, 64> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < n; i += 64)
    top = fmaxf(top, in[blockIdx.x * n + i]);
  top = Reduce(storage).Reduce(top, Largest());
  if (threadIdx.x == 0)
    out[blockIdx.x] = top;
}
// Its name says something else than it does.
// CHECK: kb.unraised @_Z8furthest{{.*}} "what 'Max()' makes of two values is not understood"
__global__ void furthest(const float *in, float *out, int n) {
  typedef cub::BlockReduce<float, 64> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < n; i += 64)
    top = fmaxf(top, in[blockIdx.x * n + i]);
  top = Reduce(storage).Reduce(top, Max());
  if (threadIdx.x == 0)
    out[blockIdx.x] = top;
}

int main() {
  const int n = 64 * 16;
  std::vector<float> in(n), result(n);
  std::vector<int> lengths(32);
  for (int i = 0; i < n; ++i)
    in[i] = i % 17 * 0.25f - 2.0f;
  for (int i = 0; i < 32; ++i)
    lengths[i] = i % 9;
  float *a, *out;
  int *l;
  cudaMalloc(&a, n * 4), cudaMalloc(&out, n * 4), cudaMalloc(&l, 32 * 4);
  cudaMemcpy(a, in.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(l, lengths.data(), 32 * 4, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * 4);
  double sum = 0;
  auto add = [&] {
    cudaMemcpy(result.data(), out, n * 4, cudaMemcpyDeviceToHost);
    for (float value : result)
      sum += value;
  };
  for (int batch : {4, 0}) {
    mask<<<3, 64>>>(a, l, out, batch, 16, 12);
    add();
  }
  rowSums<float><<<8, 64, 64 * 4>>>(a, out, 100);
  add();
  for (int stride : {1, 2}) {
    cross<<<2, 64>>>(a, a, out, 80, stride);
    add();
  }
  spread<<<4, 64>>>(a, out);
  add();
  printf("%g\n", sum);
}
