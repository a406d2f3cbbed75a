// Ported with each operation rounded on its own: three multiplications and three additions after the powers.
__global__ void cubic(const float *x, const float *c, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    // Three fused operations, in the order of the sum. Horner's scheme would save the powers too,
    // but where one of them overflows it ends in another infinity, or in a number: only for
    // arguments known to be moderate.
    float v = x[i], square = v * v, cube = square * v;
    y[i] = fmaf(c[3], cube, fmaf(c[2], square, fmaf(c[1], v, c[0])));
  }
}

void run(const float *x, const float *c, float *y, int n) {
  cubic<<<(n + 255) / 256, 256>>>(x, c, y, n);
}
