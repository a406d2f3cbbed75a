// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// RUN: kb-opt -passes=schedule --quiet -o %t.cu %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s
// REQUIRES: sandbox
// A struct of the thread is its fields; a pointer or a reference to a variable of the thread is that variable.

#include <cstdio>
#include <vector>

// JUDGE: CPU device checks passed
// JUDGE: correct

struct Vec {
  float x, y, z;
};

__device__ void velocityOf(float density, const Vec momentum, Vec *velocity) {
  velocity->x = momentum.x / density;
  velocity->y = momentum.y / density;
  (*velocity).z = momentum.z / density;
}
__device__ float squared(const Vec &v) { return v.x * v.x + v.y * v.y + v.z * v.z; }

// CHECK-LABEL: kb.nest @_Z6speeds
// CHECK: kb.let "velocity_x" : "float" "" []
// CHECK: kb.let "velocity_z" : "" "{{.*}} / density" [] reassigns
// CHECK: kb.store {{.*}} "sqrtf(squared(Vec{(float)(velocity_x), (float)(velocity_y), (float)(velocity_z)}))" []
__global__ void speeds(float *out, const float *state, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Vec momentum;
  momentum.x = state[i];
  momentum.y = state[i + n];
  momentum.z = state[i + 2 * n];
  Vec velocity;
  velocityOf(2.0f + state[i], momentum, &velocity);
  out[i] = sqrtf(squared(velocity));
}

__device__ unsigned next(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state;
}

// A result that is the caller's variable is kept: the next call changes it.
// CHECK-LABEL: kb.nest @_Z5noise
// CHECK: kb.let "seed" : "" "seed * 1664525u + 1013904223u" [] reassigns
// CHECK-NEXT: kb.let "result" : "unsigned int" "seed" []
// CHECK-NEXT: kb.let "seed" : "" "seed * 1664525u + 1013904223u" [] reassigns
// CHECK-NEXT: kb.let "result_2" : "unsigned int" "seed" []
// CHECK: kb.store {{.*}} "(result >> 8) + (result_2 >> 9)" []
__global__ void noise(unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned seed = i;
  out[i] = (next(&seed) >> 8) + (next(&seed) >> 9);
}

// CHECK-LABEL: kb.nest @_Z7centers
// CHECK: kb.over "j" reduction
// CHECK: kb.reduce "sum_x" "add" "%a + %b"
// CHECK: kb.store {{.*}} "float" bytes 4 at <over [i] : i * 3>> "sum_x" []
// CHECK: kb.store {{.*}} "float" bytes 4 at <over [i] : i * 3 + 2>> "sum_z" []
__global__ void centers(Vec *out, const Vec *in, const float *w, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Vec sum = {0, 0, 0};
  for (int j = 0; j < k; ++j) {
    sum.x += in[i * k + j].x * w[j];
    sum.y += in[i * k + j].y * w[j];
    sum.z += in[i * k + j].z * w[j];
  }
  out[i] = sum;
}

// A vector that is loaded as a whole, and changed in parts. The two chars between may be copied at once.
// CHECK-LABEL: kb.nest @_Z5blend
// CHECK: kb.let "whole" : "uchar4" "$0"
// CHECK: kb.let "px_x" : "unsigned char" "whole.x" []
__global__ void blend(uchar4 *out, const uchar4 *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  uchar4 px = in[i];
  px.x = 3 * px.x;
  px.w = 255;
  out[i] = px;
}

__device__ double large(unsigned long long *state) {
  const unsigned long long m = 9223372036854775808ULL; // 2^63: more than a polynomial has
  *state = (2806196910506780709ULL * *state + 1) % m;
  return (double)*state / (double)m;
}
// CHECK-LABEL: kb.nest @_Z9largeOnes
__global__ void largeOnes(double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned long long seed = i;
  out[i] = large(&seed) - large(&seed);
}

// CHECK: kb.unraised @_Z9sometimesPjj "'next' may do more than compute a value from scalars"
__global__ void sometimes(unsigned *out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, seed = i;
  if (i < n)
    out[i] = n > 100 && next(&seed) > 7;
}

struct Counter {
  int value;
  __device__ Counter() : value(1) {}
};
// CHECK: kb.unraised @_Z5countPii "the address of 'counter.value' is not understood"
__global__ void count(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Counter counter;
  counter.value += i;
  if (i < n)
    out[i] = counter.value;
}

// CHECK: kb.nest @_Z8oneFieldP3Veci
// CHECK: kb.store {{.*}} "float" bytes 4 at <over [i] : i * 3>> "1.0f"
__global__ void oneField(Vec *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i].x = 1.0f;
}

template <class T> T *onDevice(const std::vector<T> &host) {
  T *memory;
  cudaMalloc(&memory, host.size() * sizeof(T));
  cudaMemcpy(memory, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  return memory;
}
template <class T> void show(const T *memory, std::vector<T> host) {
  cudaMemcpy(host.data(), memory, host.size() * sizeof(T), cudaMemcpyDeviceToHost);
  unsigned sum = 0;
  for (size_t i = 0; i < host.size() * sizeof(T); i += sizeof(T))
    sum += ((unsigned char *)host.data())[i];
  printf("%d\n", sum > 0);
}

int main() {
  int n = 3000, k = 40;
  std::vector<float> state(3 * n), out(n);
  for (size_t i = 0; i < state.size(); ++i)
    state[i] = float(i * 37 % 101) / 101.0f;
  std::vector<unsigned> numbers(n);
  std::vector<Vec> vectors(n * k, Vec{1.0f, 0.5f, 0.25f}), sums(n);
  std::vector<uchar4> pixels(n, uchar4{1, 2, 3, 4});
  std::vector<double> doubles(n);
  float *dState = onDevice(state), *dOut = onDevice(out);
  double *dDoubles = onDevice(doubles);
  unsigned *dNumbers = onDevice(numbers);
  Vec *dVectors = onDevice(vectors), *dSums = onDevice(sums);
  uchar4 *dPixels = onDevice(pixels), *dBlended = onDevice(pixels);
  int blocks = (n + 127) / 128;
  speeds<<<blocks, 128>>>(dOut, dState, n);
  noise<<<blocks, 128>>>(dNumbers, n);
  centers<<<blocks, 128>>>(dSums, dVectors, dState, n, k);
  largeOnes<<<blocks, 128>>>(dDoubles, n);
  blend<<<blocks, 128>>>(dBlended, dPixels, n);
  show(dOut, out);
  show(dNumbers, numbers);
  show(dSums, sums);
  show(dDoubles, doubles);
  show(dBlended, pixels);
}
