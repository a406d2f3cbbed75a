// Many accesses of which only integer emptiness shows that points do not meet: the proof is given up after two seconds of processor time.
// A thread computes several points, so that nothing else shows that they are independent.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// CHECK: kb.unraised @{{.*}}mirrored{{.*}} "its accesses take too long to compare"

#define ONE(a)                                    \
  y[((k * 64 + (a)) * n + i) * n + j] = (a) + 0.0f; \
  y[((k * 64 + (a)) * n + j) * n + i] = (a) + 0.5f;
#define FOUR(a) ONE(a) ONE(a + 1) ONE(a + 2) ONE(a + 3)
#define SIXTEEN(a) FOUR(a) FOUR(a + 4) FOUR(a + 8) FOUR(a + 12)

__global__ void mirrored(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, first = 2 * blockIdx.z;
  if (i >= n)
    return;
  for (int k = first; k < first + 2; ++k) {
    if (j >= i)
      continue;
    SIXTEEN(0) SIXTEEN(16) SIXTEEN(32) SIXTEEN(48)
  }
}
