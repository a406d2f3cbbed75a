// RUN: kb-opt "-passes=schedule{as='map vector=4'}" --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// RUN: kb-opt "-passes=schedule{as='spiral turns=3' kernel=scale}" --quiet --remarks-file=%t.spiral.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck --check-prefix=SPIRAL %s < %t.spiral.yaml
// RUN: kb-opt "-passes=schedule{as='map turns=3' kernel=scale}" --quiet --remarks-file=%t.turns.yaml -o %t %s
// RUN: FileCheck --check-prefix=TURNS %s < %t.turns.yaml
// RUN: kb-opt "-passes=schedule{as='map turns' kernel=scale}" --quiet --remarks-file=%t.word.yaml -o %t %s
// RUN: FileCheck --check-prefix=WORD %s < %t.word.yaml
// CHECK-NOT: !Passed
// SPIRAL: there is no sketch ''spiral''
// TURNS: schedule ''map'' has no key ''turns''
// WORD: ''turns'' is not written as key=value

// CHECK: Function: scale
// CHECK: String: {{.*}}no launch of ''scale'' is in sight
__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

// CHECK: Function: inMacro
// CHECK: String: {{.*}}the launch at line {{[0-9]+}} cannot be changed: it comes from the macro ''LAUNCH_NAMED''
__global__ void inMacro(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 2.0f * x[i];
}
#define LAUNCH_NAMED(kernel, n, ...) in##kernel<<<((n) + 255) / 256, 256>>>(__VA_ARGS__)
void runInMacro(float *y, const float *x, int n) { LAUNCH_NAMED(Macro, n, y, x, n); }

// CHECK: Function: sideEffects
// CHECK: String: {{.*}}''take(left)'' at line {{[0-9]+}} has side effects
__global__ void sideEffects(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 3.0f * x[i];
}
int take(int &left);
void runSideEffects(float *y, const float *x, int left) { sideEffects<<<16, 256>>>(y, x, take(left)); }

// CHECK: Function: byApi
// CHECK: String: {{.*}}the launch at line {{[0-9]+}} calls cudaLaunchKernel
__global__ void byApi(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 4.0f * x[i];
}
void runByApi(float *y, const float *x, int n) {
  void *arguments[] = {&y, &x, &n};
  cudaLaunchKernel((const void *)byApi, dim3((n + 255) / 256), dim3(256), arguments, 0, nullptr);
}

// CHECK: Function: 'inner::declaredFirst'
// CHECK: String: {{.*}}the launch at line {{[0-9]+}} stands before the definition of ''inner::declaredFirst''
namespace inner {
__global__ void declaredFirst(float *y, const float *x, int n);
}
void runDeclaredFirst(float *y, const float *x, int n) { inner::declaredFirst<<<(n + 255) / 256, 256>>>(y, x, n); }
namespace inner {
__global__ void declaredFirst(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 5.0f * x[i];
}
} // namespace inner

// CHECK: Function: isFallback
// CHECK: String: {{.*}}the launch at line {{[0-9]+}} only runs where a faster kernel cannot
__global__ void isFallback(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 6.0f * x[i];
}
// CHECK: Function: isFallbackTiled
// CHECK: is not affine
__global__ void isFallbackTiled(float *y, const float *x, int n) {
  for (int i = 4 * threadIdx.x; i < n; i += n / 2)
    atomicAdd(&y[i], x[i * i]);
}
void runFallback(float *y, const float *x, int n) {
  if (n % 4 == 0)
    isFallbackTiled<<<(n / 4 + 255) / 256, 256>>>(y, x, n);
  else
    isFallback<<<(n + 255) / 256, 256>>>(y, x, n);
}

// CHECK: Function: inBraces
// CHECK: String: {{.*}}the launch at line {{[0-9]+}} only runs where a faster kernel cannot
__global__ void inBraces(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 8.0f * x[i];
}
// CHECK: Function: inBraces_wide
// CHECK: is not affine
__global__ void inBraces_wide(float *y, const float *x, int n) {
  for (int i = 4 * threadIdx.x; i < n; i += n / 2)
    atomicAdd(&y[i], x[i * i]);
}
void runInBraces(float *y, const float *x, int n) {
  if (n % 4 == 0) {
    inBraces_wide<<<(n / 4 + 255) / 256, 256>>>(y, x, n);
  } else {
    inBraces<<<(n + 255) / 256, 256>>>(y, x, n);
  }
}

// CHECK: Function: tooWide
// CHECK: String: {{.*}}has side effects
__global__ void tooWide(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 9.0f * x[i];
}
void runTooWide(float *y, const float *x, int *next) { tooWide<<<4, 256>>>(y, x, (*next)++); }

// CHECK: Function: neverFits
// CHECK: String: {{.*}}does not hold for the launch at line
__global__ void neverFits(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 7.0f * x[i];
}
void runNeverFits(float *y, const float *x) { neverFits<<<1, 256>>>(y, x, 1001); }

// CHECK: Function: noForm
// CHECK: String: {{.*}}''clock'' may do more than compute a value
__global__ void noForm(int *times, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    times[i] = clock();
}
void runNoForm(int *times, int n) { noForm<<<1, 256>>>(times, n); }
