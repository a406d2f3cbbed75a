// Barriers that threads need stay: tiles that are filled again, two buffers in turn, values broadcast by one thread.
// RUN: kb-opt -passes=remove-redundant-barrier --quiet -o %t %s
// RUN: diff %s %t
__global__ void tiles(const float *__restrict__ x, float *__restrict__ y, int n) {
  __shared__ float tile[128];
  float sum = 0;
  for (int first = 0; first < n; first += 128) {
    tile[threadIdx.x] = x[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 128; ++k)
      sum += tile[k];
    __syncthreads();
  }
  y[blockIdx.x * 128 + threadIdx.x] = sum;
}

__global__ void broadcast(const float *__restrict__ x, float *__restrict__ y) {
  __shared__ float first;
  if (threadIdx.x == 0)
    first = x[blockIdx.x];
  __syncthreads();
  y[blockIdx.x * 128 + threadIdx.x] = first;
}

__global__ void turns(const float *__restrict__ x, float *__restrict__ y, int steps) {
  __shared__ float part[2][128];
  int t = threadIdx.x;
  part[0][t] = x[t];
  __syncthreads();
  for (int step = 0; step < steps; ++step) {
    part[(step + 1) % 2][t] = part[step % 2][127 - t];
    __syncthreads();
  }
  y[blockIdx.x * 128 + t] = part[0][t];
}

void run(const float *x, float *y, int n) {
  tiles<<<1, 128>>>(x, y, n);
  broadcast<<<1, 128>>>(x, y);
  turns<<<1, 128>>>(x, y, n);
}
