// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// RUN: kb-opt -passes=schedule --quiet -o %t.cu %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s
// REQUIRES: sandbox, long
// Methods, lambdas and functions of templates are read where they are called; what they name must be in sight there.

#include <cstdio>
#include <vector>

// JUDGE: CPU device checks passed
// JUDGE: correct

struct Line {
  float slope, start;
  int scale;
  __device__ float operator()(float x) const { return slope * x + start + x * scale; }
};
struct Plus {
  template <class T> __device__ T operator()(T a, T b) const { return a + T(b); }
};

// A field of the kernel's argument keeps that name.
// CHECK-LABEL: kb.nest @_Z8straight
// CHECK: kb.let "result" : "float" "line.slope * x + line.start + x * $0" [#kb.operand<index {{.*}} with [line.scale] : line.scale>>]
// CHECK: kb.let "a{{.*}}" : "float" "result"
// CHECK: "a{{.*}} + (float)(b)"
__global__ void straight(Line line, const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Plus plus;
  if (i < n)
    out[i] = plus(line(in[i]), 1.0f);
}

// The function's own T and N have other names here, even if the kernel has a T, too.
template <class T, int N> __device__ T weigh(const float *p) { return T(p[0]) * N + static_cast<T>(p[1]); }
// CHECK-LABEL: kb.nest @_Z7weighed
// CHECK: kb.let "result" : "double" "(double)($0) * 3 + (double)($1)" [{{.*}} : i * 2>>, {{.*}} : i * 2 + 1>>]
// CHECK: "T(result)"
template <class T> __global__ void weighed(const float *in, T *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = T(weigh<double, 3>(in + 2 * i));
}

// CHECK-LABEL: kb.nest @_Z4rows
// CHECK: kb.let "sum" : "double" "0"
// CHECK: kb.reduce "sum" {{.*}} "$0" [{{.*}} : j + i * m>>]
// CHECK: "float(sum) * (double)(2)"
__global__ void rows(const float *in, float *out, int n, int m) {
  using wide = double;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  auto at = [=](int row, int column) { return row * m + column; };
  if (i < n) {
    wide sum = 0;
    for (int j = 0; j < m; ++j)
      sum += in[at(i, j)];
    out[i] = float(sum) * (wide)2;
  }
}

// A lambda that copies what changes says something else each time.
// CHECK: kb.unraised @_Z5stale{{.*}} "'f(in[i])' may do more than compute a value from scalars"
__global__ void stale(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int k = 1;
  auto f = [=](float x) { return x * k; };
  k = 2;
  if (i < n)
    out[i] = f(in[i]) + k;
}

template <int N> __device__ void take(const float *p, float *values) {
  for (int k = 0; k < N; ++k)
    values[k] = p[k];
}
__device__ float squares(const float *values) {
  float sum = 0.0f;
  for (int k = 0; k < 4; ++k)
    sum += values[k] * values[k];
  return sum;
}
// CHECK-LABEL: kb.nest @_Z5lines
// CHECK: kb.let "values_3" : "" "$0" [{{.*}} : i * 4 + 3>>] reassigns
// CHECK: "sum + (values_3 * values_3)"
__global__ void lines(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float values[4];
  if (i < n) {
    take<4>(in + 4 * i, values);
    out[i] = squares(values);
  }
}

__device__ float choose(const float *values, int k) { return values[k]; }
// CHECK: kb.unraised @_Z6chosen{{.*}} "'values[k]' indexes an array of the thread by what is not constant"
__global__ void chosen(const float *in, const int *places, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float values[4];
  if (i < n) {
    take<4>(in + 4 * i, values);
    out[i] = choose(values, places[i]);
  }
}

struct Atom {
  float x, y;
  int kind;
  __device__ float length() const { return sqrtf(x * x + y * y); }
  __device__ void move(float by) { x += by; }
};
// CHECK-LABEL: kb.nest @_Z7lengths
// CHECK: "sqrtf($0.x * $1.x + $2.y * $3.y)" [#kb.operand<element <argument "atoms" argument 0> : "Atom" bytes 12 at <over [i] : i>>
// CHECK: kb.store {{.*}} : "float" bytes 4 at <over [i] : i>> "result + $0.x * $1.kind"
__global__ void lengths(const Atom *atoms, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const Atom *atom = &atoms[i];
  const Atom &same = atoms[i];
  float &length = out[i];
  length = atoms[i].length() + same.x * atom->kind;
}

// CHECK: kb.unraised @_Z5moved{{.*}} "'atoms[i].move(1.0f)' is not understood"
__global__ void moved(Atom *atoms, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atoms[i].move(1.0f);
}

// The reference is a double of its own.
// CHECK: kb.unraised @_Z7widened{{.*}} "what the reference 'wide' names is not understood"
__global__ void widened(const float *in, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const double &wide = in[i];
    out[i] = wide;
  }
}

int main() {
  const int n = 200, m = 33;
  std::vector<float> in(n * m), result(n);
  std::vector<Atom> atoms(n);
  std::vector<int> places(n);
  for (int i = 0; i < n * m; ++i)
    in[i] = i % 17 * 0.25f - 2.0f;
  for (int i = 0; i < n; ++i)
    atoms[i] = {in[i], in[i + 1], i % 5}, places[i] = i % 4;
  float *a, *out;
  double *wide;
  Atom *list;
  int *at;
  cudaMalloc(&a, in.size() * 4), cudaMalloc(&out, n * 4), cudaMalloc(&list, n * sizeof(Atom));
  cudaMalloc(&at, n * 4), cudaMalloc(&wide, n * 8);
  cudaMemcpy(a, in.data(), in.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(list, atoms.data(), n * sizeof(Atom), cudaMemcpyHostToDevice);
  cudaMemcpy(at, places.data(), n * 4, cudaMemcpyHostToDevice);
  double sum = 0;
  auto add = [&] {
    cudaMemcpy(result.data(), out, n * 4, cudaMemcpyDeviceToHost);
    for (float value : result)
      sum += value;
  };
  straight<<<(n + 63) / 64, 64>>>(Line{2.0f, 0.5f, 3}, a, out, n);
  add();
  weighed<float><<<(n + 63) / 64, 64>>>(a, out, n);
  add();
  rows<<<(n + 63) / 64, 64>>>(a, out, n, m);
  add();
  stale<<<(n + 63) / 64, 64>>>(a, out, n);
  add();
  lines<<<(n + 63) / 64, 64>>>(a, out, n);
  add();
  chosen<<<(n + 63) / 64, 64>>>(a, at, out, n);
  add();
  lengths<<<(n + 63) / 64, 64>>>(list, out, n);
  add();
  moved<<<(n + 63) / 64, 64>>>(list, n);
  widened<<<(n + 63) / 64, 64>>>(a, wide, n);
  printf("%g\n", sum);
}
