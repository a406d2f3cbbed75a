// A store into 'out' might change 'x' for all the compiler knows: each load waits for the store before it.
__global__ void products(const float *x, const int *order, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  for (int k = 0; k < 4; ++k)
    out[k * n + i] = x[order[k * n + i]] * x[i];
}

void run(const float *x, const int *order, float *out, int n) {
  products<<<(n + 255) / 256, 256>>>(x, order, out, n);
}
