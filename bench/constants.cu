//===- constants.cu - Microbenchmarks for the cost model ------------------===//
//
// Block starts, atomics by layout of their counters, scattered stores, barriers,
// L2 and DRAM bandwidth of the GPU that it runs on, one line each.
//
//   nvcc -O3 -arch=sm_90 bench/constants.cu -o constants && ./constants
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CHECK(x)                                                                                   \
  do {                                                                                             \
    cudaError_t e = (x);                                                                           \
    if (e) {                                                                                       \
      printf("%s: %s\n", #x, cudaGetErrorString(e));                                               \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

template <class F> double us(F launch, int n = 20) {
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  for (int i = 0; i < 3; ++i)
    launch();
  double best = 1e30;
  for (int r = 0; r < 3; ++r) {
    cudaEventRecord(a);
    for (int i = 0; i < n; ++i)
      launch();
    cudaEventRecord(b);
    CHECK(cudaEventSynchronize(b));
    float ms;
    cudaEventElapsedTime(&ms, a, b);
    best = std::min(best, ms * 1e3 / n);
  }
  return best;
}
__global__ void empty() {}
__global__ void guarded(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    p[i] = 1;
}
__global__ void withShared(float *p, int n) {
  __shared__ float s[256];
  s[threadIdx.x & 255] = n;
  __syncthreads();
  if (n < 0)
    p[0] = s[1];
}
__global__ void histo(unsigned *c, const int *v, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&c[v[i]], 1u);
}
__global__ void histoF(float *c, const int *v, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&c[v[i]], 1.f);
}
__global__ void histoShared(unsigned *c, const int *v, int n) {
  __shared__ unsigned s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[v[i] & 255], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&c[i], s[i]);
}
/// One block: cycles per request of a warp whose lanes are `stride` bytes apart.
template <class T> __global__ void stores(char *p, int stride, int mask, int n, long long *out) {
  int lane = threadIdx.x & mask;
  char *q = p + (threadIdx.x / 32) * 32 * 256 + lane * stride;
  __syncthreads();
  long long a = clock64();
  for (int i = 0; i < n; ++i) {
    *(volatile T *)(q) = T(i);
  }
  __syncthreads();
  if (!threadIdx.x)
    *out = clock64() - a;
}
__global__ void barriers(int n, long long *out) {
  __syncthreads();
  long long a = clock64();
  for (int i = 0; i < n; ++i)
    __syncthreads();
  if (!threadIdx.x)
    *out = clock64() - a;
}
__global__ void copy4(float4 *y, const float4 *x, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i];
}
__global__ void read4(float *y, const float4 *x, size_t n, int rounds) {
  float s = 0;
  for (int r = 0; r < rounds; ++r)
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
      float4 v = __ldcg(x + i);
      s += v.x + v.y + v.z + v.w;
    }
  if (s == 12345.f)
    y[0] = s;
}
int main() {
  long long *out;
  float *sink;
  char *buf;
  const size_t big = 1ull << 30;
  CHECK(cudaMallocManaged(&out, 8));
  CHECK(cudaMalloc(&sink, 1 << 20));
  CHECK(cudaMalloc(&buf, 2 * big));
  CHECK(cudaMemset(buf, 0, 2 * big));
  printf("empty us %.3f\n", us([&] { empty<<<1, 32>>>(); }, 200));
  for (int t : {32, 64, 128, 256, 512, 1024})
    for (int blocks : {16384, 65536, 262144}) {
      printf("empty blocks %d threads %d us %.3f\n", blocks, t,
             us([&] { empty<<<blocks, t>>>(); }));
      if (blocks == 65536) {
        printf("guarded blocks %d threads %d us %.3f\n", blocks, t,
               us([&] { guarded<<<blocks, t>>>((float *)buf, 0); }));
        printf("withShared blocks %d threads %d us %.3f\n", blocks, t,
               us([&] { withShared<<<blocks, t>>>((float *)buf, 1); }));
      }
    }
  int n = 1 << 20;
  std::vector<int> v(n);
  int *dv;
  CHECK(cudaMalloc(&dv, n * 4));
  for (int k : {1, 8, 32, 256, 4096, 65536, 1 << 20})
    for (int stride : {1, 8, 32, 1024}) {
      if ((size_t)k * stride * 4 > big)
        continue;
      unsigned x = 12345;
      for (int &e : v) {
        x = x * 1664525u + 1013904223u;
        e = (int)((x >> 8) % k) * stride;
      }
      CHECK(cudaMemcpy(dv, v.data(), n * 4, cudaMemcpyHostToDevice));
      printf("atomics counters %d stride %d us %.2f float %.2f\n", k, stride,
             us([&] { histo<<<528, 128>>>((unsigned *)buf, dv, n); }, 5),
             us([&] { histoF<<<528, 128>>>((float *)buf, dv, n); }, 5));
      if (stride == 1 && k == 256)
        printf("shared atomics counters 256 us %.2f\n",
               us([&] { histoShared<<<528, 128>>>((unsigned *)buf, dv, n); }, 5));
    }
  for (int i = 0; i < n; ++i)
    v[i] = i;
  CHECK(cudaMemcpy(dv, v.data(), n * 4, cudaMemcpyHostToDevice));
  printf("atomics coalesced us %.2f\n",
         us([&] { histo<<<528, 128>>>((unsigned *)buf, dv, n); }, 5));
  auto perRequest = [&](int threads, int n) {
    CHECK(cudaDeviceSynchronize());
    return double(*out) / n / (threads / 32);
  };
  for (int threads : {256, 1024})
    for (int stride : {4, 32, 128, 256}) {
      stores<float><<<1, threads>>>(buf, stride, 31, 512, out);
      printf("store4 threads %d stride %d cycles/request %.2f\n", threads, stride,
             perRequest(threads, 512));
      stores<double><<<1, threads>>>(buf, std::max(stride, 8), 31, 512, out);
      printf("store8 threads %d stride %d cycles/request %.2f\n", threads, stride,
             perRequest(threads, 512));
    }
  for (int t : {32, 64, 128, 256, 512, 1024}) {
    barriers<<<1, t>>>(1000, out);
    CHECK(cudaDeviceSynchronize());
    printf("barrier threads %d cycles %.1f\n", t, *out / 1000.0);
  }
  double t = us(
      [&] {
        copy4<<<(big / 16 + 255) / 256, 256>>>((float4 *)(buf + big), (float4 *)buf, big / 16);
      },
      3);
  printf("copy 1 GiB us %.1f TB/s %.3f\n", t, 2 * big / t * 1e-6);
  t = us([&] { read4<<<1056, 256>>>(sink, (float4 *)buf, big / 16, 1); }, 3);
  printf("read 1 GiB TB/s %.3f\n", big / t * 1e-6);
  for (size_t mb : {1, 4, 8, 16, 32})
    for (int grid : {1, 16, 132, 1056}) {
      int rounds = grid < 132 ? 4 : 40;
      t = us([&] { read4<<<grid, 256>>>(sink, (float4 *)buf, (mb << 20) / 16, rounds); }, 2);
      printf("L2 read %zu MiB grid %d TB/s %.3f\n", mb, grid,
             (double)rounds * (mb << 20) / t * 1e-6);
    }
  CHECK(cudaDeviceSynchronize());
}
