// Adjacent passes that set a schedule print one kernel, and the IR between them carries the schedule.
// RUN: kb-opt --quiet -passes='shared-memory-tiling{bm=64 bn=64 bk=16},register-tiling{tm=4 tn=8},double-buffer{stages=2}' -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// CHECK-COUNT-3: __global__
// CHECK-NOT: __global__
// RUN: kb-opt --quiet -passes="schedule{as='contraction bm=64 bn=64 bk=16 tm=4 tn=8 stages=2'}" -o %t.once.cu %s
// RUN: diff %t.once.cu %t.cu
//
// RUN: kb-opt --quiet --emit=kb-nest -passes='shared-memory-tiling{bm=64 bn=64 bk=16}' %s | FileCheck --check-prefix=FIRST %s
// FIRST: kb.nest @_Z7product{{.*}} schedule {bk = 16 : i64, bm = 64 : i64, bn = 64 : i64, {{.*}}sketch = "contraction"
// RUN: kb-opt --quiet --emit=kb-nest -passes='shared-memory-tiling{bm=64 bn=64 bk=16},register-tiling{tm=4 tn=8},double-buffer{stages=2}' %s | FileCheck --check-prefix=LAST %s
// LAST: kb.nest @_Z7product{{.*}} schedule {bk = 16 : i64, bm = 64 : i64, bn = 64 : i64, {{.*}}stages = 2 : i64, tm = 4 : i64, tn = 8 : i64
// LAST: kb.nest @_Z5scale
// LAST-NOT: schedule
//
// Kernels do not disturb each other: steps on two of them interleave.
// RUN: kb-opt --quiet -passes="shared-memory-tiling{kernel=product bm=64 bn=64 bk=16},schedule{kernel=scale as='map vector=1'},register-tiling{kernel=product tm=4 tn=8}" -o %t.two.cu %s
// RUN: grep -v '^ *//' %t.two.cu | FileCheck --check-prefix=TWO %s
// TWO: void product(
// TWO: product_{{t}}iled(
// TWO: constexpr int BM = 64, BN = 64, {{.*}}TM = 4, TN = 8
// TWO: void scale(
// TWO: scale_{{w}}ide(
// TWO: product_{{t}}iled<<<
// TWO: scale_{{w}}ide<<<
// TWO-NOT: <<<{{.*}}_{{t}}iled2
//
// After a pass over the text the kernel is raised from what stands there: the original only runs as a fallback.
// RUN: kb-opt -passes='shared-memory-tiling{kernel=product},unroll-loop{kernel=scale},register-tiling{kernel=product}' -o %t.text.cu %s 2>&1 | FileCheck --check-prefix=TEXT %s
// TEXT: added 'product_{{t}}iled'
// TEXT: the launch at line {{[0-9]+}} only runs where a faster kernel cannot [register-tiling, site 1]
//
// A step that names the kernel which the run printed begins a run of its own.
// RUN: kb-opt -passes="schedule{kernel=scale as='map vector=1'},thread-coarsening{kernel=scale_""wide inflight=4}" -o %t.own.cu %s 2>&1 | FileCheck --check-prefix=OWN %s
// OWN: added 'scale_{{w}}ide_wide' (map {{.*}}inflight=4
//
// A sketch of another kind, a key that there is not, a schedule that is there already.
// RUN: kb-opt -passes='shared-memory-tiling{kernel=product},cache-row{kernel=product},shared-memory-tiling{kernel=product}' -o %t.other.cu %s 2>&1 | FileCheck --check-prefix=OTHER %s
// OTHER: the kernel is scheduled as 'contraction' by an earlier step [cache-row
// OTHER: 'product' has this schedule already [shared-memory-tiling

__global__ void product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && col < n) {
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
      sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
  }
}

__global__ void scale(float *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int k = 0; k < 4; ++k)
      y[k * n + i] *= a;
}

void run(const float *a, const float *b, float *c, int n) {
  product<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n);
  scale<<<(n + 255) / 256, 256>>>(c, 2.0f, n);
}
