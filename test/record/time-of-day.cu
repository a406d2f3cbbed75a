// Programs seed their generators from the time of day and from std::random_device. Until the first launch each run has the same
// numbers, so that the host of a candidate uploads what the original's did; then time passes, and what is printed of it may differ.
// REQUIRES: sandbox, long
// RUN: rm -rf %t && mkdir %t && sed 's/const float add/float add/; s/x\[i\] + add/add + x[i]/' %s > %t/right.cu
// RUN: sed 's/x\[i\] + add/x[i] - add/' %s > %t/wrong.cu
// RUN: kb-opt verify %s %t/right.cu | FileCheck %s
// CHECK: {{^}}correct{{$}}
// RUN: %status 1 kb-opt verify %s %t/wrong.cu | FileCheck --check-prefix=WRONG %s
// WRONG: {{^}}incorrect (correctness
#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>
#include <sys/time.h>
#include <unistd.h>

__global__ void addTo(float *x, const float add, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] + add;
}

int main() {
  const int n = 256;
  timeval now;
  gettimeofday(&now, nullptr);
  std::random_device device;
  std::mt19937 generator(device() ^ now.tv_usec);
  srand(static_cast<unsigned>(std::chrono::system_clock::now().time_since_epoch().count()));
  float x[n];
  for (float &each : x)
    each = static_cast<float>(generator() % 1000) + static_cast<float>(rand() % 10);
  const auto start = std::chrono::steady_clock::now();
  usleep(20000);
  if (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(15))
    return 1; // clocks that only measure go on
  for (time_t begin = time(nullptr); time(nullptr) < begin + 1;) {
  } // what is waited for comes
  float *a;
  cudaMalloc(&a, sizeof x);
  cudaMemcpy(a, x, sizeof x, cudaMemcpyHostToDevice);
  addTo<<<2, 128>>>(a, 1.5f, n);
  cudaMemcpy(x, a, sizeof x, cudaMemcpyDeviceToHost);
  timeval end;
  gettimeofday(&end, nullptr);
  std::printf("%g %g\n", x[0], x[n - 1]);
  std::printf("%ld us\n", (end.tv_sec - now.tv_sec) * 1000000L + end.tv_usec - now.tv_usec);
}
