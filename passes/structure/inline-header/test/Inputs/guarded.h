#ifndef GUARDED_H
#define GUARDED_H
__global__ void guarded(float *x) { x[threadIdx.x] += 1.0f; }
inline void runGuarded(float *x) { guarded<<<1, 32>>>(x); }
#endif
