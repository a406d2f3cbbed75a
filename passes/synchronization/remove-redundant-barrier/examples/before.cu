// A block turns its piece around. The first barrier is needed, the other ones wait for nothing: each thread sums what it has
// read itself, and nobody writes the piece again.
__global__ void turnPieces(const float *__restrict__ x, float *__restrict__ y, int n) {
  __shared__ float piece[256];
  __shared__ float own[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  piece[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  own[t] = piece[255 - t];
  __syncthreads();
  if (i < n)
    y[i] = own[t] + piece[t];
  __syncthreads();
}

void run(const float *x, float *y, int n) {
  turnPieces<<<(n + 255) / 256, 256>>>(x, y, n);
}
