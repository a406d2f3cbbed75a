// RUN: kb-opt -passes=specialize-constants --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: kb-opt -passes='specialize-constants{parameter=rows value=64}' --quiet -o - %s | grep -v '^ *//' | FileCheck %s --check-prefix=BYHAND

// A template; the value comes from main, through two wrappers, a variable and a conversion. The
// count of rows stays: it only guards.
// CHECK: __global__ void normColumns{{[0-9]+}}(T *x, const int rows) {
// CHECK-NEXT: constexpr int columns = 768;
// CHECK-NEXT: int i =
// CHECK: __global__ void norm(T *x, const int rows, int columns) {
// REMARK: Function: norm
// REMARK: String: {{.*}}compiled for columns == 768
// BYHAND: {{void norm[a-zA-Z0-9]*}}(T *x, int columns) {
// BYHAND-NEXT: constexpr int rows = 64;
// BYHAND: if ((int)rows == 64)
template <typename T> __global__ void norm(T *x, const int rows, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows)
    return;
  T sum = rows / 2;
  for (int k = 0; k < columns; ++k)
    sum += x[i * columns + k];
  x[i * columns] = sum / columns;
}

// Every launch passes the constant itself: only the new kernel stays. What the body changes is no
// constant.
// CHECK: __global__ void scale(float *x, int n) {
// CHECK-NEXT: constexpr unsigned int stride = 4;
// CHECK-NEXT: int times = 3;
// REMARK: Function: scale
// REMARK: String: {{.*}}compiled for stride == 4, times == 3
__global__ void scale(float *x, int n, const unsigned stride, int times) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    while (times-- > 0)
      x[i * stride] *= 2.0f;
}

// A launch with another value keeps the original.
// CHECK: __global__ void add_bias_flag1{{[0-9]*}}(float *x) {
// CHECK-NEXT: constexpr bool flag = true;
__global__ void add_bias(float *x, bool flag) {
  x[threadIdx.x] += flag ? 1.0f : 2.0f;
}

// Shared memory whose size only the run knows is what it was, as long as the host asks for no more of it.
// CHECK: void turnWidth3{{[0-9]*}}(float *x) {
__global__ void turn(float *x, int width) {
  extern __shared__ float row[];
  row[threadIdx.x] = x[threadIdx.x * width];
  __syncthreads();
  x[threadIdx.x * width] = row[threadIdx.x ^ 1];
}
void runTurn(float *x, int threads, int width) {
  if (threads > 0)
    turn<<<1, threads, threads * sizeof(float)>>>(x, width);
}

// CHECK: void norm1(float *x, int rows, int columns, const int block) {
// CHECK-NEXT: if (columns == 768)
// CHECK-NEXT: normColumns{{[0-9]+}}<<<(rows + block - 1) / block, block>>>(x, rows);
// CHECK-NEXT: else
// CHECK-NEXT: norm<<<(rows + block - 1) / block, block>>>(x, rows, columns);
void norm1(float *x, int rows, int columns, const int block) {
  norm<<<(rows + block - 1) / block, block>>>(x, rows, columns);
}

#define SCALE(x) scale<<<1, 32>>>(x, 100, 4, 3)

void normAny(int number, float *x, long rows, long columns) {
  switch (number) {
  case 1:
    norm1(x, rows, columns, 128);
  }
  // CHECK: if ((int)(columns + 0) == 768)
  // CHECK-NEXT: normColumns{{[0-9]+}}<float><<<rows / 64, 64, 0, 0>>>(x, rows);
  norm<float><<<rows / 64, 64, 0, 0>>>(x, rows, columns + 0);
}

int main(int argc, char **argv) {
  float *x = nullptr;
  long rows = 8192, columns = 768;
  if (argc > 1)
    columns = rows * 2;
  normAny(1, x, rows, columns);
  runTurn(x, 64, 3);
  // CHECK: {{^  }}scale<<<1, 32>>>(x, 100);
  scale<<<1, 32>>>(x, 100, 4, 3);
  // CHECK-NEXT: if (argc > 3) {
  // CHECK-NEXT: if ((argc > 4))
  // CHECK-NEXT: add_bias_flag1{{[0-9]*}}<<<1, 32>>>(x);
  // CHECK-NEXT: else
  // CHECK-NEXT: add_bias<<<1, 32>>>(x, argc > 4);
  // CHECK-NEXT: }
  // CHECK-NEXT: else add_bias_flag1{{[0-9]*}}<<<1, 32>>>(x);
  if (argc > 3) add_bias<<<1, 32>>>(x, argc > 4);
  else add_bias<<<1, 32>>>(x, true);
}
