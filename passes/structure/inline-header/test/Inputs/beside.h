#include "scaling.h"
__global__ void half(float *x) { x[threadIdx.x] *= 0.5f; }
inline void runHalf(float *x) { half<<<1, 32>>>(x); }
