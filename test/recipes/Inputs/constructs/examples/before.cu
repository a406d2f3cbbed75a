__global__ void k(float *y, const float *x, int n) {
  using Value = float;
  constexpr int bins = 32;
  __shared__ Value own[bins];
  Value sum = x[threadIdx.x];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  switch (n) {
  case 1:
    sum += 'a';
    break;
  default:
    sum -= 1;
  }
  asm volatile("mov.f32 %0, %1;" : "=f"(own[threadIdx.x % bins]) : "f"(sum) : "memory");
  if (y != nullptr)
    y[threadIdx.x] = own[threadIdx.x % bins];
}
void run(float *y, const float *x, int n) { k<<<1, 32>>>(y, x, n); }
