// Warp 0 loads up to two tiles ahead, two warps compute. Named barriers say which stage is full and which is empty.
constexpr int kColumns = 64, kRows = 8;

constexpr int kStages = 2, kThreads = 32 + kColumns;

// Barrier 0 is that of __syncthreads(). Each completes when all threads have come, those that wait and those that do not.
__device__ int fullBarrier(int stage) { return 1 + stage; }
__device__ int emptyBarrier(int stage) { return 1 + kStages + stage; }
__device__ void waitAt(int barrier) { asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory"); }
__device__ void arriveAt(int barrier) { asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory"); }

__global__ void correlate(const float *x, float *y, int rows, int columns) {
  __shared__ float tile[kStages][kRows][kColumns];
  int tiles = (rows + kRows - 1) / kRows;
  if (threadIdx.x < 32) {
    for (int i = 0; i < tiles; ++i) {
      int stage = i % kStages, first = i * kRows;
      if (i >= kStages) // in the first round all stages are empty
        waitAt(emptyBarrier(stage));
      for (int r = 0; r < kRows; ++r)
        for (int c = threadIdx.x; c < kColumns; c += 32) {
          int column = blockIdx.x * kColumns + c;
          tile[stage][r][c] = first + r < rows && column < columns ? x[(first + r) * columns + column] : 0.0f;
        }
      arriveAt(fullBarrier(stage));
    }
    return; // no barrier of the whole block follows
  }
  int t = threadIdx.x - 32, column = blockIdx.x * kColumns + t;
  float sum = 0.0f;
  for (int i = 0; i < tiles; ++i) {
    int stage = i % kStages;
    waitAt(fullBarrier(stage));
    for (int r = 0; r < kRows; ++r)
      sum += tile[stage][r][t] * tile[stage][r][(t + 1) % kColumns];
    if (i + kStages < tiles) // only where the producer waits for it
      arriveAt(emptyBarrier(stage));
  }
  if (column < columns)
    y[column] = sum;
}

void run(const float *x, float *y, int rows, int columns) {
  correlate<<<(columns + kColumns - 1) / kColumns, kThreads>>>(x, y, rows, columns);
}
