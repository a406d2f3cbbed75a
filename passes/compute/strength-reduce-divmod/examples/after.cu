// A flat index is taken apart by a size that is known at run time: two divisions per element.
__global__ void addOuter(float *x, const float *left, const float *top, int rows, int columns, unsigned multiplier, int shift) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (unsigned)(rows * columns)) {
    // i / columns, for i below 2^31.
    unsigned row = (__umulhi(i, multiplier) + i) >> shift;
    x[i] += left[row] * top[i - row * columns];
  }
}

void run(float *x, const float *left, const float *top, int rows, int columns) {
  int shift = 0; // the logarithm of columns, rounded up
  while ((1LL << shift) < columns)
    ++shift;
  unsigned multiplier = (unsigned)(((1ULL << 32) * ((1ULL << shift) - columns)) / columns + 1);
  addOuter<<<(rows * columns + 255) / 256, 256>>>(x, left, top, rows, columns, multiplier, shift);
}
