//===- driver.cu - Times the variants of bench/maps/kernels.cu ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of every variant with the host's result, and its time with a cold L2: the
// median of 15 launches between two events. Scans run on two streams at once before they are timed.
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_fp16.h>
#include <vector>

#include "variants.h" // which has no includes of its own

static char *flushBuffer;
template <class F> float timeOf(F f, int times = 15) {
  cudaEvent_t a, b;
  cudaEventCreate(&a), cudaEventCreate(&b);
  std::vector<float> all;
  f();
  for (int i = 0; i < times; ++i) {
    cudaMemset(flushBuffer, i, 256 << 20);
    cudaEventRecord(a), f(), cudaEventRecord(b), cudaEventSynchronize(b);
    float ms;
    cudaEventElapsedTime(&ms, a, b);
    all.push_back(ms * 1000);
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}
template <class T> T *upload(const std::vector<T> &h) {
  T *d;
  cudaMalloc(&d, h.size() * sizeof(T));
  cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}
template <class T> std::vector<T> fetch(const T *d, size_t n) {
  std::vector<T> h(n);
  cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost);
  return h;
}
int main() {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  printf("%s\n", p.name);
  cudaMalloc(&flushBuffer, 256 << 20);
  const int side = 4096;
  const size_t most = 1u << 26;
  std::vector<float> hx(most);
  for (size_t i = 0; i < most; ++i)
    hx[i] = (i * 2654435761u >> 8 & 255) / 256.0f;
  float *x = upload(hx), *y;
  cudaMalloc(&y, most * 4);
  printf("copy 4096x4096 float %.1f us\n",
         timeOf([&] { cudaMemcpyAsync(y, x, size_t(side) * side * 4, cudaMemcpyDeviceToDevice); }));
  printf("copy 4096x4096 half %.1f us\n",
         timeOf([&] { cudaMemcpyAsync(y, x, size_t(side) * side * 2, cudaMemcpyDeviceToDevice); }));
#define EACH(name)                                                                                 \
  for (auto [n, m] : {std::pair(4096, 4096), {4095, 4097}, {33, 70}}) {                            \
    cudaMemset(y, 0, size_t(n) * m * 4);                                                           \
    name::runTf(y, x, n, m);                                                                       \
    auto h = fetch(y, size_t(n) * m);                                                              \
    size_t bad = 0;                                                                                \
    for (int i = 0; i < n; ++i)                                                                    \
      for (int j = 0; j < m; ++j)                                                                  \
        bad += h[size_t(j) * n + i] != hx[size_t(i) * m + j];                                      \
    printf("%s transpose float %dx%d %.1f us wrong %zu\n", #name, n, m,                            \
           timeOf([&] { name::runTf(y, x, n, m); }), bad);                                         \
    name::runTh((__half *)y, (const __half *)x, n, m);                                             \
    auto g = fetch((const unsigned short *)y, size_t(n) * m);                                      \
    auto hh = (const unsigned short *)hx.data();                                                   \
    bad = 0;                                                                                       \
    for (int i = 0; i < n; ++i)                                                                    \
      for (int j = 0; j < m; ++j)                                                                  \
        bad += g[size_t(j) * n + i] != hh[size_t(i) * m + j];                                      \
    printf("%s transpose half %dx%d %.1f us wrong %zu\n", #name, n, m,                             \
           timeOf([&] { name::runTh((__half *)y, (const __half *)x, n, m); }), bad);               \
  }                                                                                                \
  printf("%s permute 32x1024x16x32 float %.1f us\n", #name,                                        \
         timeOf([&] { name::runP(y, x, 32, 1024, 16, 32); }));
  TRANSPOSES
#undef EACH
#define EACH(name)                                                                                 \
  for (int n : {1 << 24, (1 << 24) + 3, 7}) {                                                      \
    name::runS(y, x, 2.0f, n);                                                                     \
    auto h = fetch(y, n);                                                                          \
    size_t bad = 0;                                                                                \
    for (int i = 0; i < n; ++i)                                                                    \
      bad += h[i] != 2 * hx[i];                                                                    \
    printf("%s scale %d %.1f us wrong %zu\n", #name, n,                                            \
           timeOf([&] { name::runS(y, x, 2.0f, n); }), bad);                                       \
  }                                                                                                \
  for (auto [n, k] : {std::pair(1 << 18, 64), {1 << 20, 16}, {1 << 18, 63}})                       \
    printf("%s rows of a thread %dx%d %.1f us\n", #name, n, k,                                     \
           timeOf([&] { name::runR(y, x, n, k); }));
  MAPS
#undef EACH
      float *a = upload(std::vector<float>(2048 * 2048, 0.5f)),
            *r = upload(std::vector<float>(2048 * 2048, 0.f)),
            *q = upload(std::vector<float>(2048 * 2048, 1e-3f));
#define EACH(name)                                                                                 \
  printf("%s gramschmidt3 2048, k = 3: %.1f us\n", #name, timeOf([&] { name::runG(a, r, q, 3); }));
  GRAMS
#undef EACH
  std::vector<int> hi(most);
  for (size_t i = 0; i < most; ++i)
    hi[i] = i * 2654435761u >> 20;
  int *ix = upload(hi), *iy, *iz;
  cudaMalloc(&iy, most * 4), cudaMalloc(&iz, most * 4);
  cudaStream_t one, two;
  cudaStreamCreate(&one), cudaStreamCreate(&two);
#define EACH(name)                                                                                 \
  for (int n : {1, 2, 31, 4095, 4096, 32768, 32769, 100003, 1 << 20, (1 << 20) + 5, (1 << 24) - 1, \
                1 << 26}) {                                                                        \
    size_t bad = 0;                                                                                \
    for (int round = 0; round < 4; ++round) {                                                      \
      cudaMemset(iy, 0x55, n * 4ull), cudaMemset(iz, 0x55, n * 4ull), cudaDeviceSynchronize();     \
      for (int again = 0; again < 3; ++again)                                                      \
        name::runI(iy, ix, n, one), name::runI(iz, ix, n, two);                                    \
      cudaDeviceSynchronize();                                                                     \
      auto h = fetch(iy, n), g = fetch(iz, n);                                                     \
      int s = 0;                                                                                   \
      for (int i = 0; i < n; ++i)                                                                  \
        s = int(unsigned(s) + unsigned(hi[i])), bad += h[i] != s, bad += g[i] != s;                \
      if (n > 1 << 20 && round)                                                                    \
        break;                                                                                     \
    }                                                                                              \
    printf("%s scan %d %.1f us wrong %zu\n", #name, n,                                             \
           timeOf([&] { name::runC(y, x, n); }, n > 1 << 24 ? 5 : 15), bad);                       \
  }
  SCANS
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
