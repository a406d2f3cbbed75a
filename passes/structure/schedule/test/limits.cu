// Schedules that do not fit the chip, or that the architecture of the program cannot run, are refused with a reason.
// RUN: kb-opt "-passes=schedule{kernel=product as='contraction bm=256 bn=256 bk=16 tm=16 tn=16'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=REGISTERS %s
// RUN: diff %s %t.cu
// REGISTERS: does not apply: a thread needs about {{[0-9]+}} registers
// RUN: kb-opt "-passes=schedule{kernel=product as='contraction bm=256 bn=256 bk=32 stages=4 tm=8 tn=16'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=SHARED %s
// RUN: diff %s %t.cu
// SHARED: does not apply: a block needs {{[0-9]+}} bytes of shared memory
// RUN: kb-opt "-passes=schedule{kernel=normalize as='rows team=32 rows=8 cache=registers chunks=64 vector=4'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=HELD %s
// RUN: diff %s %t.cu
// HELD: does not apply: a thread would keep 256 elements in 255 registers
// RUN: kb-opt "-passes=schedule{kernel=normalize as='rows team=1024 rows=1 cache=registers chunks=16 vector=4'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=BLOCK %s
// RUN: diff %s %t.cu
// BLOCK: does not apply: a block needs about {{[0-9]+}} registers

// An architecture without cp.async, which a chip that has it runs as well.
// RUN: kb-opt --arch=sm_75 "-passes=schedule{kernel=product as='contraction stages=3'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=ASYNC %s
// RUN: diff %s %t.cu
// ASYNC: does not apply: sm_75 has no cp.async
// RUN: kb-opt --arch=sm_75 -passes='cp-async-pipeline{kernel=product stages=3}' -o %t.cu %s 2>&1 | FileCheck --check-prefix=PASS %s
// RUN: diff %s %t.cu
// PASS: does not apply: the pass needs sm_80 or later
// RUN: kb-opt --arch=sm_75 -passes='schedule{kernel=product}' -o %t.cu %s 2>&1 | FileCheck --check-prefix=OLD %s
// RUN: grep -v '^ *//' %t.cu | FileCheck --check-prefix=PLAIN %s
// OLD: added 'product_{{t}}iled'{{.*}}stages=2
// PLAIN-NOT: pipeline
// PLAIN-NOT: cp.async
// PLAIN: product_{{t}}iled<<<
// RUN: kb-opt --arch=sm_80 -passes='cp-async-pipeline{kernel=product stages=3}' -o %t.cu %s 2>&1 | FileCheck --check-prefix=NEW %s
// NEW: added 'product_{{t}}iled'{{.*}}stages=3
// Shared memory that one architecture has and another has not.
// RUN: kb-opt --arch=sm_80 "-passes=schedule{kernel=product as='contraction bm=256 bn=128 bk=32 stages=3 tm=8 tn=8'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=LARGE %s
// LARGE: added 'product_{{t}}iled'
// RUN: kb-opt --arch=sm_86 "-passes=schedule{kernel=product as='contraction bm=256 bn=128 bk=32 stages=3 tm=8 tn=8'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=SHARED %s
__global__ void product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && column < n) {
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
      sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
  }
}

__global__ void normalize(float *y, const float *x, int n, int m) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n) {
    float sum = 0.0f;
    for (int k = 0; k < m; ++k)
      sum += x[row * m + k];
    for (int k = 0; k < m; ++k)
      y[row * m + k] = x[row * m + k] / sum;
  }
}

void run(float *y, const float *x, int n) {
  product<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(x, x + n * n, y, n);
  normalize<<<(n + 63) / 64, 64>>>(y, x, n, n);
}
