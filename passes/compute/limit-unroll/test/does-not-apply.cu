// RUN: kb-opt -passes='limit-unroll{factor=4}' --quiet --remarks-file=%t.yaml -o %t %s
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

// CHECK: Function: endsOnData
// CHECK: String: {{.*}}the compiler does not unroll the loop
__global__ void endsOnData(const int *next, int *y) {
  int length = 0;
  for (int at = threadIdx.x; at >= 0; at = next[at])
    ++length;
  y[threadIdx.x] = length;
}

// CHECK: Function: isShort
// CHECK: String: the loop runs no more than 3 times
__global__ void isShort(const float *x, float *y) {
  float sum = 0;
  for (int k = 0; k < 3; ++k)
    sum += x[threadIdx.x * 3 + k];
  y[threadIdx.x] = sum;
}

// CHECK: Function: limited
// CHECK: String: the loop is limited to 2 iterations per trip already
// CHECK: Function: limited
// CHECK: String: the loop is limited to 1 iteration per trip already
__global__ void limited(const int *x, int *y, int n) {
  int sum = 0;
#pragma unroll 2
  for (int k = 0; k < n; ++k)
    sum += x[k];
#pragma nounroll
  for (int k = 0; k < n; ++k)
    sum += x[k];
  y[threadIdx.x] = sum;
}

// CHECK: Function: inRegisters
// CHECK: String: '''part'' is indexed by the loop''s counter and would move from registers to local memory'
__global__ void inRegisters(const float *x, float *y) {
  float part[8];
  for (int k = 0; k < 8; ++k)
    part[k] = x[threadIdx.x * 8 + k];
  y[threadIdx.x] = (part[0] + part[1]) * (part[2] + part[3]) * (part[4] + part[5]) * (part[6] + part[7]);
}

// The array is indexed by what follows from the counter, and by a variable that the
// loop changes.
// CHECK: Function: follows
// CHECK: String: {{.*}}''part'' is indexed by the loop''s counter
// CHECK: Function: follows
// CHECK: String: {{.*}}''part'' is indexed by the loop''s counter
__global__ void follows(const float *x, float *y) {
  float part[8] = {};
  for (int k = 0; k < 16; ++k) {
    int half = k / 2;
    part[half] += x[threadIdx.x * 16 + k];
  }
  int at = 0;
  for (int k = 0; k < 16; ++k) {
    part[at] += x[k];
    at ^= 1;
  }
  y[threadIdx.x] = (part[0] + part[1]) * (part[2] + part[3]) * (part[4] + part[5]) * (part[6] + part[7]);
}

// CHECK: Function: byOperator
// CHECK: String: the loop carries something else than one unroll pragma
__global__ void byOperator(const int *x, int *y, int n) {
  int sum = 0;
  _Pragma("unroll")
  for (int k = 0; k < n; ++k)
    sum += x[k];
  y[threadIdx.x] = sum;
}

// CHECK: Function: suppressed
// CHECK: String: suppressed by the NOKBOPT comment for line {{[0-9]+}}
__global__ void suppressed(const int *x, int *y, int n) {
  int sum = 0;
  for (int k = 0; k < n; ++k) // NOKBOPT(limit-unroll)
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
