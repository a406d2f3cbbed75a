// A condition that is tested in a function of its own, of a template's instance; a value that the parameter cuts off.
// RUN: kb-opt "-passes=schedule{as='map vector=4'}" --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// CHECK: static inline bool can_use_blend_{{w}}ide(float *first,
// CHECK: int count
template <typename T>
__global__ void blend(T *first, const T *second, const T *third, const T *fourth, T weight, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    first[i] = weight * second[i] + third[i] * fourth[i];
}

// CHECK-LABEL: void run(
// CHECK: if (can_use_blend_{{w}}ide(
// CHECK-NEXT: blend_{{w}}ide<<<
// CHECK-NEXT: else
// CHECK-NEXT: blend<<<
void run(float *first, const float *second, const float *third, const float *fourth, size_t count, size_t blocks) {
  blend<<<blocks, 256>>>(first, second, third, fourth, 0.5f, count);
}

// 2^32 + 4 becomes 4 in the kernel, so that the constant proves nothing.
// CHECK-LABEL: void cutOff(
// CHECK: if ({{.*}}
// CHECK: else
void cutOff(float *first, const float *second) {
  blend<<<1, 256>>>(first, second, second, second, 0.5f, 4294967300ull);
}
