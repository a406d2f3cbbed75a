// What the findings name is among the first candidates: a tile with bank conflicts gets its padding before anything else is tried. The default
// output is short; --verbose tells of each candidate; no result beats what is said to be the least time.
// REQUIRES: nvcc, sandbox
// RUN: rm -rf %t.k %t.j
// RUN: kb-opt -passes=auto --budget-candidates=4 --seed=1 -j 2 --knowledge=%t.k --journal=%t.j -v %s 2>&1 >/dev/null | FileCheck --check-prefix=FIRST %s
// RUN: rm -rf %t.k
// RUN: kb-opt -passes=auto --budget-candidates=4 --seed=1 -j 2 --knowledge=%t.k --journal=%t.j %s 2>%t.err >/dev/null
// RUN: FileCheck --check-prefix=SHORT --implicit-check-not='{{^}}[sketch]' --implicit-check-not=effects --implicit-check-not=knowledge: --input-file=%t.err %s
// RUN: %python -c "import re, sys; text = open(sys.argv[1]).read(); assert float(re.search(r'-> ([0-9.]+) us', text)[1]) >= float(re.search(r'goes below ([0-9.]+) us', text)[1]), text" %t.err

// FIRST: state: shared_bank_conflicts
// FIRST: {{^}}[sketch] pad-shared-array{pad=1 kernel=turn}  correct, modelled
// FIRST: effects:

// SHORT: state: shared_bank_conflicts
// SHORT-NEXT: why:
// SHORT: modelled on h200: {{.*}} us, {{.*}} of them for 1 launch; no rewrite goes below {{.*}} us
// SHORT-NEXT: best 1.{{.*}} x, 1 of 4 candidates, modelled {{.*}} us: pad-shared-array{pad=1 kernel=turn}
// SHORT: verified: gates
// SHORT: result: 1.{{.*}} x faster
// SHORT: replay: kb-opt -passes='pad-shared-array{pad=1 kernel=turn}'
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

static __global__ void turn(const float *in, float *out, int n) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
  const int n = 1024;
  std::vector<float> image(n * n);
  for (int i = 0; i < n * n; ++i)
    image[i] = static_cast<float>(i % 1013);
  float *from, *to;
  cudaMalloc(&from, n * n * sizeof(float));
  cudaMalloc(&to, n * n * sizeof(float));
  cudaMemcpy(from, image.data(), n * n * sizeof(float), cudaMemcpyHostToDevice);
  turn<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(from, to, n);
  cudaMemcpy(image.data(), to, n * n * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (int i = 0; i < n * n; ++i)
    sum += image[i] * (i % 7);
  std::printf("%.0f\n", sum);
  return 0;
}
