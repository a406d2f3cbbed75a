// scale.h defines the kernel 'scale' and the function 'runScale', which launches it.
__global__ void scale(float *out, const float *in, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = factor * in[i];
}

inline void runScale(float *out, const float *in, float factor, int n) {
  scale<<<(n + 255) / 256, 256>>>(out, in, factor, n);
}

void twice(float *out, const float *in, int n) { runScale(out, in, 2.0f, n); }
