__global__ void halve(REAL *x) { x[threadIdx.x] *= REAL(0.5); }
