// RUN: kb-opt -passes=hoist-to-launch --quiet -o %t.cu %s
// RUN: sed 's|^ *//.*||' %t.cu | FileCheck %s
// RUN: kb-opt verify --by-passes %s %t.cu | FileCheck --check-prefix=SAME %s
// SAME: {{^}}correct
#include <cstdio>

// Equal values are one parameter. Variables of the kernel are looked through, in their types; so are the parameters'.
// CHECK: split{{H}}oisted(int *out, long long total, int parts, short step,
// CHECK-NEXT: unsigned int {{q}}uotient, long long {{r}}emainder, int {{v}}alue)
// CHECK: int at = i * {{q}}uotient + {{r}}emainder;
// CHECK-NEXT: out[i] = at + {{q}}uotient + {{v}}alue;
__global__ void split(int *out, long long total, int parts, short step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 256)
    return;
  const unsigned narrow = total * 3;
  int at = i * (narrow / parts) + total % (parts + 1);
  out[i] = at + narrow / parts + (step * 2 - parts / step);
}

// A division of 64 bits is worth it for any divisor but a power of two, and is not tested for a constant one. What the launch shows to be
// above 0 is not tested either.
// CHECK: wide{{H}}oisted(long long *out, long long total, long long {{v}}alue2)
// CHECK: out[threadIdx.x] = {{v}}alue2 + threadIdx.x;
__global__ void wide(long long *out, long long total) { out[threadIdx.x] = total / 10 + total / 8 + threadIdx.x; }

int main() {
  int *out, here[256];
  long long *outWide, wideHere[64], total = 1234567890123;
  cudaMalloc(&out, sizeof here);
  cudaMalloc(&outWide, sizeof wideHere);
  // The host computes with what the launch passes, and asks whether it can divide.
  // CHECK-LABEL: int main()
  // CHECK: if (parts > 0 && (parts + 1) > 0)
  // CHECK-NEXT: split{{H}}oisted<<<1, 256>>>(out, total, parts, 7, (unsigned int)(total * 3) / parts,
  // CHECK-NEXT: total % (parts + 1), ((short)7 * 2) - (parts / (short)7));
  // CHECK-NEXT: else
  // CHECK-NEXT: split<<<1, 256>>>(out, total, parts, 7);
  for (int parts = 1; parts < 4; ++parts)
    split<<<1, 256>>>(out, total, parts, 7);
  // CHECK: wide{{H}}oisted<<<1, 64>>>(outWide, total - 5, ((total - 5) / 10) + ((total - 5) / 8));
  wide<<<1, 64>>>(outWide, total - 5);
  cudaMemcpy(here, out, sizeof here, cudaMemcpyDeviceToHost);
  cudaMemcpy(wideHere, outWide, sizeof wideHere, cudaMemcpyDeviceToHost);
  printf("%d %lld\n", here[17], wideHere[9]);
}
