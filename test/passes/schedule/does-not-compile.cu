// A new kernel that does not compile is left out, and the kernels of other sites are not.
// RUN: kb-opt -passes=schedule -o %t.cu %s 2>&1 | FileCheck %s
// CHECK: [[#@LINE+5]]:{{.*}} does not apply: the new kernel does not compile: use of undeclared identifier 'noSuchFunction'
// CHECK: [[#@LINE+13]]:{{.*}} added 'scale_{{w}}ide'
// RUN: %code %t.cu | FileCheck --check-prefix=RESULT %s
#define __shfl_xor_sync(mask, value, distance) noSuchFunction(value, distance)

__global__ void rowSums(float *out, const float *in, int rows, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows)
    return;
  float s = 0;
  for (int j = 0; j < columns; ++j)
    s += in[i * columns + j];
  out[i] = s;
}
__global__ void scale(float *x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= by;
}

// RESULT: void run
// RESULT-NEXT: rowSums<<<
// RESULT: scale_{{w}}ide<<<
void run(float *out, float *in, int rows, int columns) {
  rowSums<<<(rows + 127) / 128, 128>>>(out, in, rows, columns);
  scale<<<(rows + 127) / 128, 128>>>(out, 2.0f, rows);
}
