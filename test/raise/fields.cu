// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// RUN: kb-opt -passes=schedule --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck --check-prefix=TEXT %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s
// REQUIRES: sandbox, long
// An array of structs whose numbers all have one type is an array of these numbers where fields are stored, or hold more than a number.

#include <cstdio>
#include <vector>

// JUDGE: CPU device checks passed
// JUDGE: correct

struct Body {
  float x, y, vx, vy;
  __device__ void stop() { vx = vy = 0; }
};
struct Tree {
  int apples[20];
};
struct Pair {
  double re, im;
};
struct Matrix {
  Pair e[3][3];
};
struct Mixed {
  double x;
  bool lives;
};

// TEXT: reinterpret_cast<float *>(bodies)
// CHECK-LABEL: kb.nest @_Z4push
// CHECK: kb.store <element <argument "bodies" argument 0> : "float" bytes 4 at <over [i] : i * 4 + 2>> "$0 + (dt * $1)"
// CHECK: kb.store {{.*}} at <over [i] : i * 4>> "$0 + ($1 * dt)" [{{.*}} at <over [i] : i * 4>>, {{.*}} at <over [i] : i * 4 + 2>>]
__global__ void push(Body *bodies, const float *force, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    Body *b = &bodies[i];
    b->vx += dt * force[2 * i];
    b->vy += dt * force[2 * i + 1];
    bodies[i].x += bodies[i].vx * dt;
    bodies[i].y += b->vy * dt;
    if (bodies[i].x > 1)
      bodies[i].stop();
  }
}

// CHECK-LABEL: kb.nest @_Z5count
// CHECK: "$0" [#kb.operand<element <argument "trees" argument 0> : "int" bytes 4 at <over [i, k] : i * 20 + k>>]
__global__ void count(const Tree *trees, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int sum = 0;
  for (int k = 0; k < 20; ++k)
    sum += trees[i].apples[k];
  out[i] = sum;
}

// CHECK-LABEL: kb.nest @_Z8multiply{{.*}} dims ["i", "j", "k"]
// CHECK: kb.store {{.*}} "double" bytes 8 at <over [i, j, k] : i * 18 + k * 2 + j * 6 + 1>> "im"
__global__ void multiply(const Matrix *a, const Matrix *b, Matrix *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  for (int j = 0; j < 3; ++j)
    for (int k = 0; k < 3; ++k) {
      double re = 0, im = 0;
      for (int m = 0; m < 3; ++m) {
        re += a[i].e[j][m].re * b[i].e[m][k].re - a[i].e[j][m].im * b[i].e[m][k].im;
        im += a[i].e[j][m].re * b[i].e[m][k].im + a[i].e[j][m].im * b[i].e[m][k].re;
      }
      c[i].e[j][k].re = re;
      c[i].e[j][k].im = im;
    }
}

// CHECK: kb.unraised @_Z10neighboursP4Bodyi "different threads may touch the same element of 'bodies'"
__global__ void neighbours(Body *bodies, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1)
    bodies[i].x = bodies[i + 1].x;
}

// CHECK: kb.unraised @_Z7severalP5MixedPKdi "the address of 'all[i].x' is not understood"
__global__ void several(Mixed *all, const double *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && all[i].lives)
    all[i].x = x[i];
}

__device__ void swapEnds(Tree *trees, int i) {
  Tree whole = trees[i];
  trees[i].apples[0] = whole.apples[1];
}
// CHECK: kb.unraised @_Z4swapP4Treei "{{.*}}"
__global__ void swap(Tree *trees, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    swapEnds(trees, i);
}

// A template of a constant array is constant memory.
template <typename T> __constant__ T weights[8];
// CHECK: kb.nest @_Z6smoothIfEvPKT_PS0_i
// CHECK: element <global "weights<float>"> : "float" bytes 4
// TEXT: weights<float>
template <typename T> __global__ void smooth(const T *in, T *out, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  T sum = 0;
  if (i < n) {
    for (int j = 0; j < 8; j++)
      sum += in[i + j] * weights<T>[j];
    out[i] = sum;
  }
}

template <typename T> T *onDevice(const std::vector<T> &values) {
  T *result;
  cudaMalloc(&result, values.size() * sizeof(T));
  cudaMemcpy(result, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return result;
}
template <typename T> void show(const T *device, int count) {
  std::vector<T> values(count);
  cudaMemcpy(values.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (int i = 0; i < count; ++i)
    sum += values[i] * (i % 7 + 1);
  printf("%g\n", sum);
}

int main() {
  int n = 2000;
  std::vector<Body> bodies(n);
  std::vector<float> force(2 * n + 8);
  std::vector<Tree> trees(n);
  std::vector<Matrix> left(n), right(n), product(n);
  for (int i = 0; i < n; ++i) {
    bodies[i] = {i % 13 / 13.0f, i % 17 / 17.0f, i % 5 * 0.25f, i % 3 * 0.5f};
    force[2 * i] = i % 11 * 0.5f;
    force[2 * i + 1] = i % 7 * 0.25f;
    for (int k = 0; k < 20; ++k)
      trees[i].apples[k] = (i * 20 + k) % 23;
    for (int k = 0; k < 9; ++k) {
      left[i].e[k / 3][k % 3] = {double((i + k) % 5), double((i * k) % 7)};
      right[i].e[k / 3][k % 3] = {double((i + 2 * k) % 9), double(k)};
    }
  }
  const float w[8] = {1, 2, 3, 4, 3, 2, 1, 0.5f};
  cudaMemcpyToSymbol(weights<float>, w, sizeof(w));
  Body *dBodies = onDevice(bodies);
  float *dForce = onDevice(force), *dSmooth = onDevice(force);
  Tree *dTrees = onDevice(trees);
  int *dCounts = onDevice(std::vector<int>(n));
  Matrix *dLeft = onDevice(left), *dRight = onDevice(right), *dProduct = onDevice(product);
  int blocks = (n + 127) / 128;
  push<<<blocks, 128>>>(dBodies, dForce, 0.125f, n);
  count<<<blocks, 128>>>(dTrees, dCounts, n);
  multiply<<<blocks, 128>>>(dLeft, dRight, dProduct, n);
  smooth<float><<<blocks, 128>>>(dForce, dSmooth, n);
  show((float *)dBodies, 4 * n);
  show(dCounts, n);
  show((double *)dProduct, 18 * n);
  show(dSmooth, n);
}
