// RUN: kb-opt -passes=branch-to-select --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// Sums that go on, both arms, several variables, types that differ.
// CHECK-LABEL: void forms
// CHECK: for (int k = 0; k < n; ++k) {
// CHECK-NEXT: float v = x[k] - x[i];
// CHECK-NEXT: sum = v > 0 ? sum + v * v : sum;
// CHECK-NEXT: count = v > 0 ? count + 1 : count;
// CHECK-NEXT: {
// CHECK-NEXT: const bool [[TAKEN:taken[0-9]*]] = v < low;
// CHECK-NEXT: low = [[TAKEN]] ? v : low;
// CHECK-NEXT: where = [[TAKEN]] ? static_cast<unsigned char>(k) : where;
// CHECK-NEXT: sum = [[TAKEN]] ? sum : sum - (v + 1);
// CHECK-NEXT: }
// CHECK-NEXT: last = (k > 3 ? v > 1 : v > 2) ? static_cast<float>(k & 7) : 0.5f;
// CHECK-NEXT: }
// REMARK: Function: forms
// REMARK: String: selected in place of 4 branches
__global__ void forms(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0, low = 1e30f, last = 0;
  int count = 0;
  unsigned char where = 0;
  for (int k = 0; k < n; ++k) {
    float v = x[k] - x[i];
    if (v > 0)
      sum += v * v;
    if (v > 0)
      ++count;
    if (v < low) {
      low = v;
      where = k;
    } else {
      sum -= v + 1;
    }
    if (k > 3 ? v > 1 : v > 2)
      last = k & 7;
    else
      last = 0.5f;
  }
  y[i] = sum + low + last + count + where;
}

// In a template; an arm that is no select leaves the chain's other end.
// CHECK-LABEL: void chain
// CHECK: if (v > limit)
// CHECK-NEXT: y[i] = T(0);
// CHECK-NEXT: else kind = v < -limit ? 2 : 3;
template <typename T> __global__ void chain(const T *x, T *y, int *kinds, T limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, kind = 1;
  T v = x[i];
  if (v > limit)
    y[i] = T(0);
  else if (v < -limit)
    kind = 2;
  else
    kind = 3;
  kinds[i] = kind;
}
template __global__ void chain<float>(const float *, float *, int *, float);
template __global__ void chain<int>(const int *, int *, int *, int);
