// One value in ten is worked on at length; in nearly every warp some lane has one, and the others wait.
constexpr int kThreads = 256;

__global__ void refine(const float *x, float *y, int n) {
  __shared__ int list[kThreads];
  __shared__ float values[kThreads];
  __shared__ int count;
  if (threadIdx.x == 0)
    count = 0;
  __syncthreads();
  // No thread returns early: all take part in ballot and barriers.
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  float value = i < n ? x[i] : 0.0f;
  bool heavy = i < n && value > 0.8f;
  if (i < n && !heavy)
    y[i] = value;
  unsigned chosen = __ballot_sync(0xffffffffu, heavy);
  int first = 0;
  if (lane == 0 && chosen != 0)
    first = atomicAdd(&count, __popc(chosen));
  first = __shfl_sync(0xffffffffu, first, 0);
  if (heavy) {
    int place = first + __popc(chosen & ((1u << lane) - 1));
    list[place] = i;
    values[place] = value;
  }
  __syncthreads();
  // The order in the list varies; each result goes where it went before.
  for (int k = threadIdx.x; k < count; k += blockDim.x) {
    float target = values[k], root = 1.0f;
    for (int step = 0; step < 40; ++step)
      root -= (root * root * root - target) / (3.0f * root * root);
    y[list[k]] = root;
  }
}

void run(const float *x, float *y, int n) {
  refine<<<(n + kThreads - 1) / kThreads, kThreads>>>(x, y, n);
}
