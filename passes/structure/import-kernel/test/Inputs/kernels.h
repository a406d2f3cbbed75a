#define WIDTH 3
#define ROUND(x) (((x) + WIDTH - 1) / WIDTH)

__device__ inline float weightOf(int k) { return k == 1 ? 0.5f : 0.25f; }

// A comment that stays where it is.
__global__ void __launch_bounds__(256) smooth(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < WIDTH; ++k)
    if (i + k < n)
      y[i] += weightOf(k) * x[i + k];
}

__global__ void smooth2(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 0.5f * x[i];
}

template <typename T>
__global__ void fill(T *x, T value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = value;
}

template <typename T> __global__ void special(T *x) { x[threadIdx.x] = T(1); }
template <> __global__ void special<int>(int *x) { x[threadIdx.x] = 2; }

#define STEP 2
__global__ void redefined(float *x) { x[threadIdx.x] *= STEP; }
#undef STEP
#define STEP 3

__global__ void overloaded(float *x) { x[threadIdx.x] = weightOf(1); }

__global__ void counts(int *x) {
  static int calls = 0;
  x[threadIdx.x] = calls;
}

__global__ void names(int *x) { x[threadIdx.x] = __LINE__; }

namespace apart {
__global__ void inside(float *x) { x[threadIdx.x] = 0; }
} // namespace apart
