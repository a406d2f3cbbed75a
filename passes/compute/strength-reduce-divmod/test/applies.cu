// RUN: kb-opt -passes=strength-reduce-divmod --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// Divisions inside of others; a wider divisor makes the division one of 64 bits; an element that is
// divided, and a difference, stay.
// CHECK-LABEL: struct Divisor{{[0-9]*}} {
// CHECK-LABEL: void permuteDivided{{[0-9]*}}
// CHECK: int c = i / {{byProduct[0-9]*}} % {{byChannels[0-9]*}}, image = (size_t)(i) / {{byProduct[0-9]*}},
// CHECK-NEXT: p = (size_t)(i) % {{byPixels[0-9]*}};
// CHECK-NEXT: y[(image * pixels + p) * channels + c] = x[i] / channels;
// CHECK-NEXT: if ((i - 1) / channels > 3)
// REMARK: Function: permute
// REMARK: String: prepared the divisors of 4 divisions on the host
__global__ void permute(const int *x, int *y, int images, int channels, size_t pixels) {
  unsigned total = images * channels * (int)pixels;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    int c = i / (int)pixels % channels, image = i / (pixels * channels), p = i % pixels;
    y[(image * pixels + p) * channels + c] = x[i] / channels;
    if ((i - 1) / channels > 3)
      y[0] = 1;
  }
}

// A template in two dimensions.
// CHECK-LABEL: void turnDivided{{[0-9]*}}
// CHECK: x[row * w + col] = x[(row * w + col) % {{byH[0-9]*}} * w + col / {{byW[0-9]*}}];
template <typename T> __global__ void turn(T *x, int w, int h) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (col < w && row < h)
    x[row * w + col] = x[(row * w + col) % h * w + col / w];
}

// CHECK-LABEL: void run
void run(const int *x, int *y, float *z, int a, int b, long c, dim3 block) {
  // CHECK: if (((unsigned long)c * b) > 0 && (int)(unsigned long)c > 0
  // CHECK: permuteDivided{{[0-9]*}}<<<64, 256>>>(x, y, a, b, c,
  // CHECK: else
  // CHECK-NEXT: permute<<<64, 256>>>(x, y, a, b, c);
  permute<<<64, 256>>>(x, y, a, b, c);
  // CHECK: if (a > 0 && b > 0 && (double)block.x * g.x <= 2147483647.0 &&
  // CHECK-NEXT: (double)a * block.y * g.y + (double)a <= 2147483647.0)
  // CHECK-NEXT: turnDivided{{[0-9]*}}<<<g, block>>>(z, a, b, {{Divisor[0-9]*}}(b), {{Divisor[0-9]*}}(a));
  dim3 g((a + block.x - 1) / block.x, (b + block.y - 1) / block.y);
  turn<<<g, block>>>(z, a, b);
  // The grid follows the sizes: less than a block is added.
  // CHECK: if (a > 0 && b > 0 && (double)a * b + 17.0 * a <= 2147483647.0)
  turn<<<dim3((a + 15) / 16, (b + 15) / 16), dim3(16, 16)>>>(z, a, b);
}
