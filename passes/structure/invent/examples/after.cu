// Four chains of additions that do not wait for each other; the terms and their precision stay. cosf (about 40 instructions per term)
// is not replaced by a recurrence: its rounding errors would grow with the number of terms.
__global__ void evaluate(const float *x, const float *coefficients, float *y, int n, int terms) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float own = x[i];
  float sum[4] = {};
  int k = 0;
  for (; k + 4 <= terms; k += 4)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      sum[j] += coefficients[k + j] * cosf((k + j) * own);
  for (; k < terms; ++k)
    sum[0] += coefficients[k] * cosf(k * own);
  y[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void run(const float *x, const float *coefficients, float *y, int n, int terms) {
  evaluate<<<(n + 127) / 128, 128>>>(x, coefficients, y, n, terms);
}
