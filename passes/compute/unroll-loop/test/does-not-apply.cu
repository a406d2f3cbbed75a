// RUN: kb-opt -passes=unroll-loop --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: whileLoop
// CHECK: String: 'only ''for'' loops are unrolled'
__global__ void whileLoop(const int *x, int *y, int n) {
  int k = 0, sum = 0;
  while (k < n)
    sum += x[k++];
  y[threadIdx.x] = sum;
}

// CHECK: Function: hasPragma
// CHECK: String: the loop carries a pragma already
__global__ void hasPragma(const int *x, int *y, int n) {
  int sum = 0;
#pragma unroll 2
  for (int k = 0; k < n; ++k)
    sum += x[k];
  y[threadIdx.x] = sum;
}

// CHECK: Function: endsOnData
// CHECK: String: the number of iterations cannot be computed before the loop
__global__ void endsOnData(const int *next, int *y) {
  int length = 0;
  for (int at = threadIdx.x; at >= 0; at = next[at])
    ++length;
  y[threadIdx.x] = length;
}

// CHECK: Function: runsOnce
// CHECK: String: {{.*}}once at most
__global__ void runsOnce(const int *x, int *y) {
  int sum = 0;
  for (int k = 0; k < 1; ++k)
    sum += x[k + threadIdx.x];
  y[threadIdx.x] = sum;
}

// CHECK: Function: suppressed
// CHECK: String: suppressed by the NOKBOPT comment for line {{[0-9]+}}
__global__ void suppressed(const int *x, int *y, int n) {
  int sum = 0;
  for (int k = 0; k < n; ++k) // NOKBOPT(unroll-loop)
    sum += x[k];
  y[threadIdx.x] = sum;
}

#define SUM_ALL(x, n, sum)                                                                         \
  for (int k = 0; k < n; ++k)                                                                      \
    sum += x[k];

// CHECK: Function: inMacro
// CHECK: String: {{.*}}macro
__global__ void inMacro(const int *x, int *y, int n) {
  int sum = 0;
  SUM_ALL(x, n, sum)
  y[threadIdx.x] = sum;
}

// CHECK: Function: leavesEarly
// CHECK: String: the number of iterations cannot be computed before the loop
__global__ void leavesEarly(const int *x, int *y, int n) {
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    if (x[k] < 0)
      break;
    sum += x[k];
  }
  y[threadIdx.x] = sum;
}

// CHECK: Function: doubles
// CHECK: String: the number of iterations cannot be computed before the loop
__global__ void doubles(int *y, unsigned n) {
  unsigned sum = 0;
  for (unsigned k = 1; k < n; k *= 2)
    sum += k ^ threadIdx.x;
  y[threadIdx.x] = sum;
}
