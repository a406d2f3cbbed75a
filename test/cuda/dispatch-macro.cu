// Launches in the argument of a macro that chooses a type, as those of PyTorch do: the argument becomes several launches, all of which are rewritten by one text.
//
// RUN: kb-opt -passes=schedule %s -o %t.cu 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt -passes=tune-block-size %s 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: kb-opt --judge=%t.cu --workload=%S/Inputs/dispatch-macro.workload.yaml --unsafe-no-sandbox %s | FileCheck %s --check-prefix=JUDGE
#define CASE(tag, T, ...)                                                                          \
  case tag: {                                                                                      \
    using scalar_t = T;                                                                            \
    return __VA_ARGS__();                                                                          \
  }
#define DISPATCH(tag, ...)                                                                         \
  [&] {                                                                                            \
    switch (tag) { CASE(0, float, __VA_ARGS__) CASE(1, double, __VA_ARGS__) }                      \
  }()
#define TWICE(...) { __VA_ARGS__ } { __VA_ARGS__ }

// REMARK: [[#@LINE+1]]:39: remark: added 'clamp{{_wide}}', 'clamp{{_wide2}}'
template <typename T> __global__ void clamp(T *x, float low, float high, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    x[i] = static_cast<T>(fminf(fmaxf(static_cast<float>(x[i]), low), high));
}

// REMARK: [[#@LINE+1]]:17: remark: added 'add{{_wide}}'
__global__ void add(float *x, float value, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    x[i] += value;
}

// CHECK: DISPATCH(tag, [&] {
// CHECK: (const void *)clamp<scalar_t> == (const void *)clamp<{{float|double}}>
// CHECK: clamp{{_wide}}<<<{{.*}}>>>(({{float|double}} *)(static_cast<scalar_t *>(x)), low, high, n);
// CHECK: (const void *)clamp<scalar_t> == (const void *)clamp<{{float|double}}>
// CHECK: clamp{{_wide2}}<<<
// CHECK: clamp<scalar_t><<<(n + 255) / 256, 256>>>(static_cast<scalar_t *>(x), low, high, n);
void run(void *x, int tag, float low, float high, int n) {
  DISPATCH(tag, [&] {
    // BLOCK: [[#@LINE+1]]:5: remark: does not apply: the launch at line [[#@LINE+1]] is written once for several instances
    clamp<scalar_t><<<(n + 255) / 256, 256>>>(static_cast<scalar_t *>(x), low, high, n);
  });
}

// CHECK: TWICE({
// CHECK: add{{_wide}}<<<
// CHECK: add<<<(n + 255) / 256, 256>>>(x, 1.0f, n);
void both(float *x, int n) {
  run(x, 0, -1.0f, 1.0f, n);
  TWICE({
    add<<<(n + 255) / 256, 256>>>(x, 1.0f, n);
  })
}

// JUDGE: correct
