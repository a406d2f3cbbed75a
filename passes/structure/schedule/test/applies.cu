// RUN: kb-opt "-passes=schedule{as='map vector=4'}" --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// REMARK: Function: scale
// REMARK: String: {{.*}}added ''scale_{{w}}ide'' (map {{.*}}vector=4{{.*}}), launched at 6 places
// CHECK-LABEL: void scale(float *y
// CHECK: __global__ {{.*}}scale_{{w}}ide(float *y, const float *x, float a, int n)
__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

// The last elements of a size that is no multiple of four are computed one by one.
// CHECK-LABEL: void oddSize
// CHECK-NEXT: if (((size_t)x | (size_t)y) % 16 == 0)
// CHECK-NEXT: scale_{{w}}ide<<<{{.*}}>>>(y, x, a, 1001);
// CHECK-NEXT: else
// CHECK-NEXT: scale<<<(1001 + 255) / 256, 256>>>(y, x, a, 1001);
void oddSize(float *y, const float *x, float a) {
  scale<<<(1001 + 255) / 256, 256>>>(y, x, a, 1001);
}

// A launch without braces stays one statement; the stream goes along.
// CHECK-LABEL: void inLoop
// CHECK-NEXT: for (int i = 0; i < times; ++i)
// CHECK-NEXT: if ({{.*}})
// CHECK-NEXT: scale_{{w}}ide<<<{{.*}}, 0, stream>>>(y, x, a, 1024);
// CHECK-NEXT: else
// CHECK-NEXT: scale<<<1024 / 256, 256, 0, stream>>>(y, x, a, 1024);
void inLoop(float *y, const float *x, float a, int times, cudaStream_t stream) {
  for (int i = 0; i < times; ++i)
    scale<<<1024 / 256, 256, 0, stream>>>(y, x, a, 1024);
}

// What the grid covers is not known: the launch is asked.
// CHECK-LABEL: void unknownGrid
// CHECK: if ({{.*}}(long long){{.*}}blocks{{.*}}>= n
void unknownGrid(float *y, const float *x, float a, int n, int blocks) {
  scale<<<blocks, 256>>>(y, x, a, n);
}

// A wrapper that is called through a pointer, and a block that is a variable.
// CHECK-LABEL: void wrapper
// CHECK-NEXT: int grid =
// CHECK-NEXT: if (n > 0 && ((size_t)x | (size_t)y) % 16 == 0)
// CHECK: scale_{{w}}ide<<<
void wrapper(float *y, const float *x, float a, int n, int block) {
  int grid = (n + block - 1) / block;
  scale<<<grid, block>>>(y, x, a, n);
}
void (*called)(float *, const float *, float, int, int) = wrapper;

// Arguments of another type are converted where they are tested.
// CHECK-LABEL: void converts
// CHECK: (int)count
void converts(float *y, const float *x, float a, size_t count) {
  scale<<<(count + 255) / 256, 256>>>(y, x, a, count);
}

// Macros stay as they are written.
// CHECK-LABEL: void macros
// CHECK: scale<<<BLOCKS(n), THREADS>>>(y, x, a, n);
#define THREADS 256
#define BLOCKS(n) (((n) + THREADS - 1) / THREADS)
void macros(float *y, const float *x, float a, int n) {
  scale<<<BLOCKS(n), THREADS>>>(y, x, a, n);
}

// In another namespace the new kernel is named as the old one was.
namespace kernels {
namespace {
// CHECK: namespace kernels
// CHECK: add_{{w}}ide(
__global__ void add(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] += x[i];
}
} // namespace
} // namespace kernels
// CHECK-LABEL: void elsewhere
// CHECK: kernels::add_{{w}}ide<<<
// CHECK: kernels::add<<<
void elsewhere(float *y, const float *x, int n) {
  kernels::add<<<(n + 255) / 256, 256>>>(y, x, n);
}
