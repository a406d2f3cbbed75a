// What names.cubin was made of: nvcc -cubin -arch=sm_90 names.cu (CUDA 13.0).
struct View {
  float *data;
  int n;
};
__constant__ float table[8];
__device__ int counter = 3;
__managed__ int shared;
static __device__ float hidden[4];

__global__ void __launch_bounds__(128) mix(const float *x, float a, View v, char c) {
  __shared__ float t[100];
  t[threadIdx.x % 100] = x[0] + c;
  __syncthreads();
  v.data[threadIdx.x] = a * t[5] + table[a > 1] + counter + shared + hidden[v.n];
}
extern "C" __global__ void plain(int *q, int n) { q[n] = atomicAdd(&counter, 1); }
static __global__ void internal(int *q) { *q = 5; }
namespace {
__global__ void unnamed(int *q) { *q = 6; }
} // namespace
void use() {
  internal<<<1, 1>>>(nullptr);
  unnamed<<<1, 1>>>(nullptr);
}
