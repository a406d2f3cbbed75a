// RUN: kb-opt -passes=vectorize-loads --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// RUN: kb-opt -passes='vectorize-loads{width=3}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s --check-prefix=THREE < %t.yaml
// CHECK-NOT: !Passed
// THREE: String: 'width 3 has no aligned vector type; use 2 or 4'

// CHECK: Function: mayOverlap
// CHECK: String: '''y'' and ''x'' may overlap; add-restrict-const may help'
__global__ void mayOverlap(const float *x, float *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i];
}

// CHECK: Function: neighbours
// CHECK: String: {{.*}}depend on each other
__global__ void neighbours(float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = x[i + 1];
}

// CHECK: Function: scatter
// CHECK: String: {{.*}}is not known to be this element alone
__global__ void scatter(const int *__restrict__ to, float *__restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[to[i]] = i;
}

// CHECK: Function: carried
// CHECK: String: '''sum'' is carried from one element to the next'
__global__ void carried(const float *__restrict__ x, float *__restrict__ y, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += x[i];
  y[threadIdx.x] = sum;
}

// CHECK: Function: atomics
// CHECK: !Missed
__global__ void atomics(const int *__restrict__ x, int *__restrict__ bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[x[i]], 1);
}

// CHECK: Function: leavesEarly
// CHECK: String: the body is left early at line {{[0-9]+}}
__global__ void leavesEarly(const float *__restrict__ x, float *__restrict__ y, int n) {
  for (int k = 0; k < n; ++k) {
    if (x[k] < 0)
      break;
    y[threadIdx.x] += x[k];
  }
}

// Every column is another row's element.
// CHECK: Function: notConsecutive
// CHECK: String: no array is read or written at consecutive elements
__global__ void notConsecutive(const float *__restrict__ x, float *__restrict__ y, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += x[k * n + threadIdx.x];
  y[threadIdx.x] = sum;
}

// CHECK: Function: startsLater
// CHECK: String: the loop does not start at 0
__global__ void startsLater(const float *__restrict__ x, float *__restrict__ y, int n) {
  float sum = 0;
  for (int k = 1; k < n; ++k)
    sum += x[k];
  y[threadIdx.x] = sum;
}

// Only one element in two is loaded; the others may not be there.
// CHECK: Function: underCondition
// CHECK: String: no array is read or written at consecutive elements
__global__ void underCondition(const float *__restrict__ x, float *__restrict__ y, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k)
    if (k & 1)
      sum += x[k];
  y[threadIdx.x] = sum;
}

struct Pair {
  float a, b;
};
// CHECK: Function: structs
// CHECK: String: no array is read or written at consecutive elements
__global__ void structs(const Pair *__restrict__ x, float *__restrict__ y, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += x[k].a;
  y[threadIdx.x] = sum;
}

// CHECK: Function: unknownGrid
// CHECK: String: {{.*}}is not a count divided by the block size and rounded up
__global__ void unknownGrid(const float *__restrict__ x, float *__restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i];
}

// CHECK: Function: derived
// CHECK: String: '''row'' is computed from ''i'' before the guard'
__global__ void derived(const float *__restrict__ x, float *__restrict__ y, int n, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row = i / w;
  if (i < n)
    y[i] = x[i] + row;
}

// CHECK: Function: suppressed
// CHECK: String: suppressed by the NOKBOPT comment for line {{[0-9]+}}
__global__ void suppressed(const float *__restrict__ x, float *__restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i]; // NOKBOPT(vectorize-loads)
}

// CHECK: Function: noShape
// CHECK: String: '''noShape'' has neither a loop nor a body guarded by ''if (i < n)'''
__global__ void noShape(const float *__restrict__ x, float *__restrict__ y) {
  y[threadIdx.x] = x[threadIdx.x];
}

// With more than 2^31 elements 'i' wraps.
// CHECK: Function: wideCount
// CHECK: String: '''i'' is narrower than ''n'' and may wrap'
__global__ void wideCount(const float *__restrict__ x, float *__restrict__ y, size_t n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i];
}

// Two names of one array: the element that was just stored is read again.
// CHECK: Function: twoNames
// CHECK: String: '''q'' and ''x'' are the same memory'
__global__ void twoNames(float *__restrict__ x, float *__restrict__ y, int n) {
  float *q = x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    q[i] = 2.0f * i;
    y[i] = x[i];
  }
}

// CHECK: Function: backwards
// CHECK: String: {{.*}}the loop is not of the form
__global__ void backwards(const float *__restrict__ x, float *__restrict__ y, int n) {
  float sum = 0;
  for (int k = n - 1; k >= 0; --k)
    sum += x[k];
  y[threadIdx.x] = sum;
}

// CHECK: Function: withBarrier
// CHECK: !Missed
__global__ void withBarrier(const float *__restrict__ x, float *__restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = x[i];
    __syncthreads();
  }
}

// The grid is right for one instance of the host only.
// CHECK: Function: twoHosts
// CHECK: String: {{.*}}is written once for several instances
__global__ void twoHosts(const float *__restrict__ x, float *__restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i];
}
template <int Size> void launch(const float *x, float *y, int n) {
  twoHosts<<<(n + 127) / 128, Size>>>(x, y, n);
}

void run(const float *x, float *y, int n) {
  unknownGrid<<<n / 256, 256>>>(x, y, n);
  derived<<<(n + 255) / 256, 256>>>(x, y, n, 4);
  launch<128>(x, y, n);
  launch<256>(x, y, n);
}

// CHECK: Function: countsByTemplate
// CHECK: String: 'the type of ''count'' depends on an argument of the template'
template <typename Count> __global__ void countsByTemplate(const float *__restrict__ x, float *__restrict__ y, const Count count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  y[i] = x[i] + 1.0f;
}
template <typename Count> void runCounts(const float *x, float *y, Count count) {
  const dim3 grid((count + 255) / 256);
  const dim3 block(256);
  countsByTemplate<<<grid, block>>>(x, y, count);
}
void runInts(const float *x, float *y) { runCounts<int>(x, y, 1000); }
