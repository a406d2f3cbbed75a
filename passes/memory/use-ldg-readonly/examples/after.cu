// No launch of the program passes an array that it writes as 'x' or 'order'. So all four iterations' loads may go first.
__global__ void products(const float *x, const int *order, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float own = __ldg(&x[i]);
#pragma unroll
  for (int k = 0; k < 4; ++k)
    out[k * n + i] = __ldg(&x[__ldg(&order[k * n + i])]) * own;
}

void run(const float *x, const int *order, float *out, int n) {
  products<<<(n + 255) / 256, 256>>>(x, order, out, n);
}
