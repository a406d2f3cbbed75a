// scale.h defines the kernel 'scale', which no pass may change there.
#include "scale.h"

// 'scale' of 'scale.h'.
__global__ void scaleHere(float *out, const float *in, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = factor * in[i];
}

void twice(float *out, const float *in, int n) {
  scaleHere<<<(n + 255) / 256, 256>>>(out, in, 2.0f, n);
}
