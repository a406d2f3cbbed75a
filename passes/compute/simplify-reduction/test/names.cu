// What comes after a sum may have the names in which a kb.reduce says how it combines (%a + %b, add, float): the sum does not use them.
// RUN: kb-opt -passes=simplify-reduction --emit=kb-nest %s 2>&1 | FileCheck %s
// CHECK: kb.nest @{{.*}}centre{{.*}} dims ["row"]
// CHECK: kb.over "k" reduction
// CHECK: kb.over "i_digit" any
// CHECK: kb.let "a" : "float"
// CHECK: kb.let "add" : "float"
__global__ void centre(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * m) {
    int row = i / m;
    float sum = 0.0f;
    for (int k = 0; k < m; k++)
      sum += x[row * m + k];
    float a = x[i] - sum / m;
    float add = a * a;
    y[i] = a > 0.0f ? add : -add;
  }
}

void run(float *y, const float *x, int n, int m) { centre<<<(n * m + 63) / 64, 64>>>(y, x, n, m); }
