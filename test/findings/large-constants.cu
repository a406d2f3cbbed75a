// Unsigned constants above 2^63, in the host's code and in the kernel's, have no finding and do no harm.
// RUN: kb-opt --analyze %s 2>&1 | FileCheck %s
// RUN: kb-opt --emit=kb-nest %s | FileCheck --check-prefix=NEST %s
// CHECK: 0 findings
// NEST: kb.nest @_Z4fillPmmm
__global__ void fill(unsigned long *x, unsigned long size, unsigned long pattern) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size)
    x[i] = x[i] * 0x87c37b91114253d5ul + pattern + 0x8080808080808080ul;
}

__global__ void steps(unsigned long *x) {
  for (unsigned long k = 0; k < 0xffffffffffffffff; k += 0x8080808080808080ul)
    x[threadIdx.x] ^= k;
}

int main() {
  unsigned long *x, pattern = 0x8080808080808080;
  cudaMalloc(&x, 8192);
  fill<<<4, 256>>>(x, 1024, pattern);
  steps<<<1, 64>>>(x);
}
