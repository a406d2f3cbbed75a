// One value in ten is worked on at length; in nearly every warp some lane has one, and the others wait.
constexpr int kThreads = 256;

__global__ void refine(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float value = x[i];
  if (value > 0.8f) {
    float root = 1.0f;
    for (int step = 0; step < 40; ++step)
      root -= (root * root * root - value) / (3.0f * root * root);
    y[i] = root;
  } else {
    y[i] = value;
  }
}

void run(const float *x, float *y, int n) {
  refine<<<(n + kThreads - 1) / kThreads, kThreads>>>(x, y, n);
}
