// Where no launch can choose the most promising schedule, the next one that one can choose is taken; not in place of a schedule
// that was asked for.
// RUN: kb-opt -passes=schedule -o %t.cu %s 2>&1 | FileCheck %s
// RUN: kb-opt "-passes=schedule{as='map vector=4'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=ASKED %s
// CHECK: added 'addOne{{W}}ide' (map {{.*}}vector=1), launched at 1 place
// ASKED: does not apply: 'blockDim.x % 4 == 0' does not hold for the launch at line [[#@LINE+2]]
__global__ void addOne(float *x) { x[blockIdx.x * 1024 + threadIdx.x] += 1.0f; }
void run(float *x) { addOne<<<4, 255>>>(x); }
