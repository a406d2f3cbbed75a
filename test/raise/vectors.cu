// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// What is read or written as a vector is the elements that it consists of.

#include <cuda_fp16.h>

// CHECK-LABEL: kb.nest @_Z4relu
// CHECK: kb.let "v_x" : "float" "$0" [{{.*}} at <over [x_] : x_ * 4>>]
// CHECK: kb.let "v_w" : "float" "$0" [{{.*}} at <over [x_] : x_ * 4 + 3>>]
// CHECK: kb.let "v_x" : "" "fmaxf(v_x, 0.0f)" [] reassigns
// CHECK: kb.let "v_w" : "float" "v_w + (1.0f)" [] reassigns
// CHECK: kb.store <element <argument "y" argument 0> : "float" bytes 4 at <over [x_] : x_ * 4>> "v_x" []
// CHECK: kb.store {{.*}} at <over [x_] : x_ * 4 + 3>> "v_w" []
__global__ void relu(float *y, const float *x, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 3 < n) {
    float4 v = *reinterpret_cast<const float4 *>(x + i);
    v.x = fmaxf(v.x, 0.0f);
    v.w += 1.0f;
    *(float4 *)(y + i) = make_float4(v.x, v.y, v.z, v.w);
  }
}

// CHECK-LABEL: kb.nest @_Z5scale
// CHECK: kb.let "v_y" : "__half" "$0" [{{.*}} : "half" bytes 2 at <over [i] : i * 2 + 1>>]
// CHECK: kb.store {{.*}} at <over [i] : i * 2 + 1>> "__hmul(v_y, __float2half_rn(2.0f))" []
__global__ void scale(half *y, const half *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2) {
    half2 v = reinterpret_cast<const half2 *>(x)[i];
    reinterpret_cast<half2 *>(y)[i] = __hmul2(v, __float2half2_rn(2.0f));
  }
}

// CHECK-LABEL: kb.nest @_Z4swap
// CHECK: kb.let "part_x" : "float" "w_y" []
// CHECK-NEXT: kb.let "part_y" : "float" "w_x" []
// CHECK-NEXT: kb.let "w_x" : "" "part_x" [] reassigns
__global__ void swap(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float2 v = reinterpret_cast<const float2 *>(x)[i], w = v;
    w = make_float2(w.y, w.x);
    reinterpret_cast<float2 *>(y)[i] = w;
  }
}

// CHECK: kb.unraised @_Z13reinterpretedPiPKfi "the address of '*(const int4 *)(x + 4 * i)' is not understood"
__global__ void reinterpreted(int *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    *(int4 *)(y + 4 * i) = *(const int4 *)(x + 4 * i);
}
