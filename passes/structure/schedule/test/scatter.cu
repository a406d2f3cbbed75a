// Integers that meet one element by atomics combine first: in a block, in bins of it, in lanes of one address, in runs of neighbouring lanes.
// RUN: kb-opt "-passes=schedule" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt "-passes=schedule{as='scatter combine=match inflight=2 block=64'}" --quiet --remarks-file=%t.yaml -o %t.match.cu %s
// RUN: %code %t.match.cu | FileCheck --check-prefix=MATCH %s
// RUN: FileCheck --check-prefix=MISSED %s < %t.yaml
// RUN: kb-opt --by-passes --judge=%t.match.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt "-passes=schedule{as='scatter combine=runs inflight=4 block=32'}" --quiet -o %t.runs.cu %s
// RUN: %code %t.runs.cu | FileCheck --check-prefix=RUNS %s
// RUN: kb-opt --by-passes --judge=%t.runs.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt "-passes=schedule{as='scatter combine=bins bins=40 inflight=4'}" --quiet -o %t.bins.cu %s
// RUN: %code %t.bins.cu | FileCheck --check-prefix=BINS %s
// RUN: kb-opt --by-passes --judge=%t.bins.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt "-passes=schedule{as='scatter combine=thread inflight=8'}" --quiet -o %t.thread.cu %s
// RUN: kb-opt --by-passes --judge=%t.thread.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
#include <cstdio>
#include <vector>

// The counters are as many as the mask says.
// CHECK: masked_{{s}}catter(
// CHECK: __shared__ int hBins[64];
// CHECK: atomicAdd(&hBins[at{{.*}}], 1);
// CHECK-NOT: else
// CHECK: if (hBins[bin{{.*}}] != 0)
// CHECK-NEXT: atomicAdd(&h[bin{{.*}}], hBins[bin{{.*}}]);
// MATCH: masked_{{s}}catter(
// MATCH: const unsigned peers =
// MATCH-NEXT: __match_any_sync(0xffffffff, reinterpret_cast<unsigned long long>(target));
// MATCH-NEXT: const int all = __reduce_add_sync(peers, value);
// MATCH-NEXT: if (target && lane == __ffs(peers) - 1)
// MATCH-NEXT: atomicAdd(target, all);
// RUNS: masked_{{s}}catter(
// RUNS: const bool isHead = lane == 0 || before != reinterpret_cast<unsigned long long>(target);
// RUNS: if (lane + offset < end)
// RUNS-NEXT: value = value + other;
// RUNS: if (isHead && target)
// RUNS-NEXT: atomicAdd(target, value);
// Bins that are too few: the others are added to memory.
// BINS: masked_{{s}}catter(
// BINS: < 40)
// BINS-NEXT: atomicAdd(&hBins[
// BINS-NEXT: else
// BINS-NEXT: atomicAdd(&h[index], 1);
__global__ void masked(int *h, const int *key, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&h[key[i] & 63], 1);
}

// One element for all.
// CHECK: positive_{{s}}catter(
// CHECK: totalSum = totalAny ? totalSum + 1 : 1;
// CHECK: __shfl_xor_sync(0xffffffff, totalSum, offset);
// CHECK: __syncthreads();
// CHECK: if (threadIdx.x == 0 && totalAny)
// CHECK-NEXT: atomicAdd(&total[0], totalSum);
__global__ void positive(int *total, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0)
    atomicAdd(total, 1);
}

// Each value is made an integer before it is added.
// CHECK: rounded_{{s}}catter(
// CHECK: totalSum + (int)(x[i] * 0.4f)
__global__ void rounded(int *total, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(total, x[i] * 0.4f);
}

// Two of them, of other operations.
// CHECK: extremes_{{s}}catter(
// CHECK: max(mostSum, x[i])
// CHECK: atomicMax(&most[0], mostSum);
// CHECK: atomicAnd(&bits[0], bitsSum);
__global__ void extremes(int *most, unsigned *bits, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicMax(most, x[i]);
    atomicAnd(bits, 0xffffff00u | x[i]);
  }
}

// A maximum for each key, known by a byte: bins are only added to.
// CHECK: latest_{{w}}ide(
// MATCH: latest_{{s}}catter(
// MATCH: __reduce_max_sync(
__global__ void latest(int *h, const unsigned char *key, const int *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicMax(&h[key[i]], x[i]);
}

// The order of these matters.
// MISSED: Function: {{.*}}last
// MISSED: atomicExch, whose order matters
__global__ void last(int *h, const int *key, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicExch(&h[key[i] & 31], 5);
}

// What is added to is also read.
// MISSED: Function: {{.*}}read
// MISSED: uses ''h'' for more than one atomic
__global__ void read(int *h, const int *key, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&h[64 + (key[i] & 31)], h[i & 31]);
}

int main() {
  const int most = 2500;
  std::vector<int> host(most), hists(512);
  std::vector<unsigned char> bytes(most);
  for (int i = 0; i < most; ++i)
    host[i] = i * 37 % 101 - 40, bytes[i] = i / 7;
  int *x, *h;
  unsigned char *keys;
  cudaMalloc(&x, most * sizeof(int));
  cudaMalloc(&h, hists.size() * sizeof(int));
  cudaMalloc(&keys, most);
  cudaMemcpy(x, host.data(), most * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(keys, bytes.data(), most, cudaMemcpyHostToDevice);
  cudaMemset(h, 0, hists.size() * sizeof(int));
  long long sum = 0;
  for (int n : {most, 300, 33, 1}) {
    int blocks = (n + 127) / 128;
    masked<<<blocks, 128>>>(h, x, n);
    positive<<<blocks, 128>>>(h + 64, x, n);
    rounded<<<blocks, 128>>>(h + 68, x, n);
    extremes<<<blocks, 128>>>(h + 65, (unsigned *)h + 66, x, n);
    latest<<<2, 64>>>(h + 100, keys, x, n);
    last<<<blocks, 128>>>(h + 400, x, n);
    read<<<blocks, 128>>>(h + 410, x, n);
    cudaMemcpy(hists.data(), h, hists.size() * sizeof(int), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < hists.size(); ++i)
      sum += hists[i] * (i % 7 + 1);
  }
  printf("%lld\n", sum);
}
