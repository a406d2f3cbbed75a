// Every block reads all over the table; the streams of 'x' and 'y' push it out of the cache.
__global__ void translate(const int *x, const float *table, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = table[x[i]];
}

void run(const int *x, const float *table, float *y, int n, int entries) {
  translate<<<(n + 255) / 256, 256>>>(x, table, y, n);
}
