// A kernel that its callers may give any pointers.
// mutant 1: loads four floats at a time without asking for the alignment -- G7
// mutant 2: reads an input again after an output was stored -- G7
// mutant 3: stores the outputs of the next element first -- G4 G6
// control 4: four floats at a time where they are aligned
// control 5: the tail first, each element by one thread
// REQUIRES: long
#include <cstdint>

/* kb-workload:
kernel: twice
sizes: {n: 1024}
parameters:
  - {name: x, type: f32, shape: [n], role: in}
  - {name: y, type: f32, shape: [n], role: out}
  - {name: z, type: f32, shape: [n], role: out}
  - {name: n, value: n}
grid: [8]
block: [128]
*/
__global__ void twice(const float *x, float *y, float *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#if VARIANT == 1 || VARIANT == 4
  bool aligned = true;
#if VARIANT == 4
  aligned = (reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
             reinterpret_cast<uintptr_t>(z)) % sizeof(float4) == 0;
#endif
  if (aligned) {
    if (i < n / 4) {
      float4 v = reinterpret_cast<const float4 *>(x)[i];
      reinterpret_cast<float4 *>(y)[i] = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
      reinterpret_cast<float4 *>(z)[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
    }
    i += n / 4 * 4;
  }
  if (i < n) {
    float v = x[i];
    y[i] = v + 1;
    z[i] = 2 * v;
  }
#elif VARIANT == 2
  if (i < n) {
    y[i] = x[i] + 1;
    z[i] = 2 * x[i];
  }
#elif VARIANT == 3
  if (i < n) {
    float v = x[i];
    y[i + 1] = v + 1;
    z[i] = 2 * v;
  }
#elif VARIANT == 5
  i = n - 1 - i;
  if (i >= 0) {
    float v = x[i];
    y[i] = v + 1;
    z[i] = 2 * v;
  }
#else
  if (i < n) {
    float v = x[i];
    y[i] = v + 1;
    z[i] = 2 * v;
  }
#endif
}
