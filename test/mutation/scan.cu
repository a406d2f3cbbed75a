// An inclusive scan per block in two buffers of shared memory.
// mutant 1: the barrier is dropped -- G4
// mutant 2: exclusive instead of inclusive -- G6
// mutant 3: one buffer instead of two -- G4
// mutant 4: the last step is missing -- G6
// mutant 5: an unsigned index wraps -- G4 G6
#include "harness.h"

__global__ void scan(const int *in, int *out, int n) {
  __shared__ int s[2][128];
  int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x, now = 0;
  s[0][t] = i < n ? in[i] : 0;
  __syncthreads();
#if VARIANT == 4
  for (int d = 1; d < 64; d *= 2) {
#else
  for (int d = 1; d < 128; d *= 2) {
#endif
#if VARIANT == 3
    if (t >= d)
      s[now][t] += s[now][t - d];
#else
#if VARIANT == 5
    s[1 - now][t] = s[now][t] + s[now][t - d >= 0 ? t - d : 127];
#else
    s[1 - now][t] = t >= d ? s[now][t] + s[now][t - d] : s[now][t];
#endif
    now = 1 - now;
#endif
#if VARIANT != 1
    __syncthreads();
#endif
  }
  if (i < n)
#if VARIANT == 2
    out[i] = t > 0 ? s[now][t - 1] : 0;
#else
    out[i] = s[now][t];
#endif
}

int main() {
  const int n = 500;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i * 7 % 13;
  int *in = toDevice(values), *out = onDevice<int>(n);
  scan<<<(n + 127) / 128, 128>>>(in, out, n);
  return finish(out, n);
}
