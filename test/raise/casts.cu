// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// RUN: kb-opt -passes=schedule --quiet -o %t.cu %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s %}
// REQUIRES: sandbox
// Memory that a kernel is given as one type and uses as another, loops that end where a sum does, and layers of a volume.

#include <cstdio>
#include <vector>

// JUDGE: CPU device checks passed
// JUDGE: correct

// Complex numbers as two numbers each.
// CHECK-LABEL: kb.nest @_Z9conjugate{{.*}}
// CHECK: kb.store <element <argument "out2" argument 1> : "double" bytes 8 at <over [i] : i * 2 + 1>> "-$0" [#kb.operand<element <argument "in2" argument 0> : "double" bytes 8 at <over [i] : i * 2 + 1>>]
__global__ void conjugate(const double2 *in2, double2 *out2, int n) {
  const double *in = (const double *)in2;
  double *out = (double *)out2;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[2 * i] = in[2 * i];
    out[2 * i + 1] = -in[2 * i + 1];
  }
}

// CHECK-LABEL: kb.nest @_Z4fill{{.*}}
// CHECK: kb.store <element <argument "memory" argument 0> : "unsigned int" bytes 4 at <over [i] : i + 4>>
__global__ void fill(char *memory, unsigned pattern, int n) {
  unsigned *words = (unsigned *)(memory + 16);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    words[i] = pattern;
}

// CHECK-LABEL: kb.nest @_Z5twice{{.*}}
// CHECK: : "float" bytes 4 at <over [i] : i>> "2.0f * $0"
__global__ void twice(void *out, const void *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    static_cast<float *>(out)[i] = 2.0f * static_cast<const float *>(in)[i];
}

// What is stored as one type is loaded as another.
// CHECK: kb.unraised @_Z5mixed{{.*}} "'memory' is used as elements of several types"
__global__ void mixed(char *memory, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    ((int *)memory)[i] = ((short *)memory)[2 * i];
}

// The offset is no whole number of elements.
// CHECK: kb.unraised @_Z6uneven{{.*}} "what 'words' points to is not understood"
__global__ void uneven(char *memory, int n) {
  int *words = (int *)(memory + 2 * blockIdx.y);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    words[i] = 0;
}

__device__ void operator+=(float4 &a, float4 b) {
  a.x += b.x;
  a.y += b.y;
  a.z += b.z;
  a.w += b.w;
}

// A function changes an element that it is handed.
// CHECK-LABEL: kb.nest @_Z3add{{.*}}
// CHECK: kb.store <element <argument "y" argument 0> : "float" bytes 4 at <over [i] : i * 4 + 3>> "$0 + b_w" [#kb.operand<element <argument "y" argument 0> : "float" bytes 4 at <over [i] : i * 4 + 3>>]
__global__ void add(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    ((float4 *)y)[i] += ((const float4 *)x)[i];
}

// CHECK-LABEL: kb.nest @_Z6ranges{{.*}} dims ["first"]
// CHECK: kb.over "i" any
__global__ void ranges(float *y, int n) {
  int first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i + first < n; i += gridDim.x * blockDim.x)
    y[i + first] = 1.0f;
}

// The elements of a layer stay below its size, whatever layer it is.
// CHECK-LABEL: kb.nest @_Z6column{{.*}}
__global__ void column(const float *in, float *out, int width, int height, int layers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  int c = i + j * width, layer = width * height;
  for (int k = 1; k < layers - 1; ++k)
    out[c + k * layer] = in[c + k * layer] - in[c];
  out[c + layer * (layers - 1)] = in[c];
}

// An iteration stores what the next one loads.
// CHECK: kb.over "k" ascending
__global__ void shifted(float *a, int rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows)
    for (int k = 0; k < i; ++k)
      a[i * 4096 + k + 1] = a[i * 4096 + k];
}

int main() {
  constexpr int n = 4096;
  std::vector<double> numbers(n);
  std::vector<float> host(n), results(5 * n);
  for (int i = 0; i < n; ++i)
    numbers[i] = host[i] = i % 37 / 4.0f - 3;
  double *x2, *y2;
  float *x, *y;
  cudaMalloc(&x2, n * sizeof(double));
  cudaMalloc(&y2, n * sizeof(double));
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, 5 * n * sizeof(float));
  cudaMemcpy(x2, numbers.data(), n * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(y2, 0, n * sizeof(double));
  cudaMemset(y, 0, 5 * n * sizeof(float));
  conjugate<<<n / 2 / 128, 128>>>((const double2 *)x2, (double2 *)y2, n / 2 - 1);
  fill<<<8, 64>>>((char *)y, 0x3f800000, n - 5);
  twice<<<n / 128, 128>>>(y + n, x, n);
  add<<<n / 4 / 128, 128>>>(y + 2 * n, x, n / 4);
  ranges<<<4, 64>>>(y + 3 * n, n - 3);
  column<<<dim3(2, 4), dim3(16, 4)>>>(x, y + 4 * n, 32, 16, 8);
  cudaMemcpy(numbers.data(), y2, n * sizeof(double), cudaMemcpyDeviceToHost);
  cudaMemcpy(results.data(), y, 5 * n * sizeof(float), cudaMemcpyDeviceToHost);
  for (double value : numbers)
    printf("%g\n", value);
  for (float value : results)
    printf("%g\n", value);
}

// A byte is no element of another size.
// CHECK: kb.unraised @_Z5bytes{{.*}} "what 'y' points to is not understood"
__global__ void bytes(void *memory, int n) {
  char *y = (char *)memory;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 0;
}
