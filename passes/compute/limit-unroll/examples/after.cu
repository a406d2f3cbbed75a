// The steps are unrolled as well: thousands of instructions, and the coefficients of all steps wait in registers.
constexpr int kState = 4, kSteps = 24;

__global__ void evolve(const float *start, const float *step, float *end, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float state[kState];
#pragma unroll
  for (int k = 0; k < kState; ++k)
    state[k] = start[k * n + i];
#pragma unroll 1
  for (int s = 0; s < kSteps; ++s) {
    float next[kState];
#pragma unroll
    for (int k = 0; k < kState; ++k) {
      next[k] = 0.0f;
#pragma unroll
      for (int j = 0; j < kState; ++j)
        next[k] += step[(s * kState + k) * kState + j] * state[j];
    }
#pragma unroll
    for (int k = 0; k < kState; ++k)
      state[k] = next[k];
  }
#pragma unroll
  for (int k = 0; k < kState; ++k)
    end[k * n + i] = state[k];
}

void run(const float *start, const float *step, float *end, int n) {
  evolve<<<(n + 127) / 128, 128>>>(start, step, end, n);
}
