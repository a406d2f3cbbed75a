// A launch whose points do not divide into vectors can choose the most promising schedule, too: the kernel computes the rest itself.
// RUN: kb-opt -passes=schedule -o %t.cu %s 2>&1 | FileCheck %s
// RUN: kb-opt "-passes=schedule{as='map vector=4'}" -o %t.cu %s 2>&1 | FileCheck %s
// CHECK: added 'addOne{{W}}ide' (map {{.*}}vector=4), launched at 1 place
__global__ void addOne(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f; }
void run(float *x) { addOne<<<1, 255>>>(x); }
