// How much of an image a window touches is known whatever its stride and dilation, so that images of one allocation take the new kernel.
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=64 bk=16 tm=4 tn=8 stages=2 vector=1'}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// CHECK: can_use_dilated_{{t}}iled(
// CHECK-NOT: lie_in_different_allocations
// CHECK: x + (long long)grid_z * C * L <= y
__global__ void dilated(float *y, const float *x, const float *w, int N, int C, int L, int OC, int OL, int K, int stride, int dilation, int pad) {
  int p = blockIdx.x * blockDim.x + threadIdx.x, oc = blockIdx.y, n = blockIdx.z;
  if (p >= OL)
    return;
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int k = 0; k < K; ++k) {
      int at = p * stride + k * dilation - pad;
      if (at >= 0 && at < L)
        sum += x[(n * C + c) * L + at] * w[(oc * C + c) * K + k];
    }
  y[(n * OC + oc) * OL + p] = sum;
}

void run(float *y, const float *x, const float *w, int N, int C, int L, int OC, int OL, int K, int stride, int dilation, int pad) {
  dilated<<<dim3((OL + 127) / 128, OC, N), 128>>>(y, x, w, N, C, L, OC, OL, K, stride, dilation, pad);
}
