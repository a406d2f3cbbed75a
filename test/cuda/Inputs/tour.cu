// Every way by which device memory is reached, with results that any order of sums gives.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(call)                                                                                \
  do {                                                                                             \
    cudaError_t e = (call);                                                                        \
    if (e != cudaSuccess) {                                                                        \
      printf("%s: %s\n", #call, cudaGetErrorName(e));                                              \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)
extern "C" int cublasCreate_v2(void **);
extern "C" int cublasSgemm_v2(void *, int, int, int, int, int, const float *, const float *, int,
                              const float *, int, const float *, float *, int);
extern "C" int cublasSgemmStridedBatched(void *, int, int, int, int, int, const float *,
                                         const float *, int, long long, const float *, int,
                                         long long, const float *, float *, int, long long, int);
__constant__ float weights[4];
__device__ int counts[4] = {1, 2, 3, 4};
static __device__ int hidden[4];
namespace inner {
__device__ int nested = 7;
}
struct View {
  float *data;
  int n;
  float factor;
};
struct Node {
  Node *next;
  long value; // no padding: its bytes would be recorded, too
};
__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
__global__ void weigh(float *out) {
  out[threadIdx.x] = weights[threadIdx.x] * counts[threadIdx.x] + inner::nested;
  counts[threadIdx.x] += 10;
  hidden[threadIdx.x] = counts[threadIdx.x];
}
static __global__ void viewed(View v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < v.n)
    v.data[i] *= v.factor;
}
namespace {
__global__ void add(int *x, const int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += y[i];
}
} // namespace
__global__ void chase(Node *first, int *sum) {
  int s = 0;
  for (Node *p = first; p; p = p->next)
    s += p->value;
  *sum = s;
}
__global__ void reverse(int *x, int n) {
  extern __shared__ int s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    s[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    x[i] = s[n - 1 - i];
}
template <class T> __global__ void fill(T *x, T v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = v;
}
__global__ void say(int n) { printf("kernel says %d\n", n + threadIdx.x); }
static float f(int i) { return float(i % 17 - 8) / 4; }
int main() {
  const int n = 100000;
  float *hx = new float[n], *hy = new float[n], *x, *y;
  for (int i = 0; i < n; ++i) {
    hx[i] = f(i);
    hy[i] = f(i + 5);
  }
  CHECK(cudaMalloc(&x, n * 4));
  CHECK(cudaMalloc(&y, n * 4));
  CHECK(cudaMemcpy(x, hx, n * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(y, hy, n * 4, cudaMemcpyHostToDevice));
  for (int i = 0; i < 5; ++i) {
    saxpy<<<(n + 255) / 256, 256>>>(n, 2, x, y);
    CHECK(cudaMemcpy(x, hx, n * 4, cudaMemcpyHostToDevice));
  }
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(hy, y, n * 4, cudaMemcpyDeviceToHost));
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += hy[i];
  printf("saxpy %g\n", sum);
  float w[4] = {1, 2, 3, 4}, out[4];
  int c[4];
  CHECK(cudaMemcpyToSymbol(weights, w, sizeof w));
  weigh<<<1, 4>>>(x);
  CHECK(cudaMemcpy(out, x, 16, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpyFromSymbol(c, counts, 16));
  printf("symbols %g %g %g %g, %d %d\n", out[0], out[1], out[2], out[3], c[0], c[3]);
  CHECK(cudaMemcpyFromSymbol(c, hidden, 16));
  printf("hidden %d\n", c[2]);
  int *address;
  CHECK(cudaGetSymbolAddress((void **)&address, counts));
  add<<<1, 32>>>(address + 2, address, 2);
  CHECK(cudaMemcpy(c, address, 16, cudaMemcpyDeviceToHost));
  printf("address %d %d\n", c[1], c[3]);
  viewed<<<(n + 255) / 256, 256>>>(View{y, n, 0.5f});
  CHECK(cudaMemcpy(hy, y, n * 4, cudaMemcpyDeviceToHost));
  printf("view %g\n", hy[77]);
  Node *nodes, host[3];
  int *total, got;
  CHECK(cudaMalloc(&nodes, sizeof host));
  CHECK(cudaMalloc(&total, 4));
  for (int i = 0; i < 3; ++i)
    host[i] = {i < 2 ? nodes + i + 1 : nullptr, 10 + i};
  CHECK(cudaMemcpy(nodes, host, sizeof host, cudaMemcpyHostToDevice));
  chase<<<1, 1>>>(nodes, total);
  CHECK(cudaMemcpy(&got, total, 4, cudaMemcpyDeviceToHost));
  printf("chase %d\n", got);
  const int big = 20000;
  int *r, *hr = new int[big];
  for (int i = 0; i < big; ++i)
    hr[i] = i;
  CHECK(cudaMalloc(&r, big * 4));
  CHECK(cudaMemcpy(r, hr, big * 4, cudaMemcpyHostToDevice));
  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, big * 4));
  reverse<<<1, 256, big * 4>>>(r, big);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(hr, r, big * 4, cudaMemcpyDeviceToHost));
  printf("reverse %d\n", hr[5]);
  reverse<<<1, 256, 300000>>>(r, big);
  printf("too much: %s\n", cudaGetErrorName(cudaGetLastError()));
  int *m;
  CHECK(cudaMallocManaged(&m, 4096));
  for (int i = 0; i < 1024; ++i)
    m[i] = i;
  add<<<4, 256>>>(m, m, 1024);
  CHECK(cudaDeviceSynchronize());
  m[3] = 100;
  add<<<4, 256>>>(m, m, 1024);
  CHECK(cudaDeviceSynchronize());
  printf("managed %d %d\n", m[3], m[1023]);
  int *p, *mapped;
  CHECK(cudaHostAlloc(&p, 4096, cudaHostAllocMapped));
  for (int i = 0; i < 1024; ++i)
    p[i] = 1;
  CHECK(cudaHostGetDevicePointer(&mapped, p, 0));
  add<<<4, 256>>>(mapped, m, 1024);
  CHECK(cudaDeviceSynchronize());
  printf("pinned %d\n", p[3]);
  CHECK(cudaMemcpy(p, r, 4096, cudaMemcpyDeviceToHost));
  printf("into pinned %d\n", p[1]);
  char *pitched;
  size_t pitch;
  CHECK(cudaMallocPitch(&pitched, &pitch, 100, 50));
  CHECK(cudaMemset2D(pitched, pitch, 1, 100, 50));
  char rows[50][60];
  CHECK(cudaMemcpy2D(rows, 60, pitched + 10, pitch, 60, 50, cudaMemcpyDeviceToHost));
  rows[49][59] = 5;
  CHECK(cudaMemcpy2D(pitched, pitch, rows, 60, 60, 50, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2D(rows, 60, pitched, pitch, 60, 50, cudaMemcpyDeviceToHost));
  printf("pitched %d %d\n", rows[0][0], rows[49][59]);
  cudaStream_t s;
  cudaEvent_t e0, e1;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaEventCreate(&e0));
  CHECK(cudaEventCreate(&e1));
  CHECK(cudaEventRecord(e0, s));
  fill<double><<<10, 256, 0, s>>>((double *)y, 1.5, 2000);
  CHECK(cudaEventRecord(e1, s));
  CHECK(cudaStreamWaitEvent(0, e1, 0));
  CHECK(cudaEventSynchronize(e1));
  float ms;
  CHECK(cudaEventElapsedTime(&ms, e0, e1));
  CHECK(cudaMemcpyAsync(hy, y, 16000, cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  printf("streams %d %g\n", ms > 0, ((double *)hy)[1999]);
  void *h;
  float two = 2, one = 1, zero = 0;
  cublasCreate_v2(&h);
  float *ga, *gb, *gc;
  CHECK(cudaMalloc(&ga, 130 * 70 * 4));
  CHECK(cudaMalloc(&gb, 130 * 70 * 4));
  CHECK(cudaMalloc(&gc, 130 * 130 * 4));
  CHECK(cudaMemcpy(ga, hx, 130 * 70 * 4, cudaMemcpyHostToDevice));
  for (int i = 0; i < n; ++i)
    hy[i] = 1.0f / (i % 101 + 1);
  CHECK(cudaMemcpy(gb, hy, 130 * 70 * 4, cudaMemcpyHostToDevice));
  for (int t = 0; t < 4; ++t) {
    cublasSgemm_v2(h, t & 1, t >> 1, 130, 100, 50, &two, ga, t & 1 ? 50 : 130, gb,
                   t >> 1 ? 100 : 50, t ? &one : &zero, gc, 130);
  }
  float *hc = new float[130 * 130];
  CHECK(cudaMemcpy(hc, gc, 130 * 100 * 4, cudaMemcpyDeviceToHost));
  double t = 0;
  for (int i = 0; i < 130 * 100; ++i)
    t += hc[i];
  printf("product %.9g %.9g\n", t, hc[777]);
  cublasSgemmStridedBatched(h, 1, 0, 33, 17, 20, &one, ga, 20, 660, gb, 20, 340, &zero, gc, 33, 561,
                            9);
  CHECK(cudaMemcpy(hc, gc, 561 * 9 * 4, cudaMemcpyDeviceToHost));
  printf("batched %.9g\n", hc[561 * 9 - 1]);
  for (int i = 0; i < 200; ++i) {
    float *q;
    CHECK(cudaMalloc(&q, (i % 7 + 1) * 400000));
    fill<float><<<10, 256>>>(q, i, 2000);
    CHECK(cudaMemcpy(hx, q, 4000, cudaMemcpyDeviceToHost));
    if (hx[999] != i)
      printf("bad %d\n", i);
    CHECK(cudaFree(q));
  }
  say<<<1, 2>>>(40);
  CHECK(cudaDeviceSynchronize());
  printf("done\n");
}
