// What cannot be known is said to be unknown: a gather. Arithmetic that may wrap says what it rests on.
// RUN: kb-opt --emit=kb-ir %s | FileCheck %s

__global__ void gather(const int *index, const float *in, float *out, unsigned m) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[index[i]];
  out[i * m] = 0;
}

// CHECK: kb.kernel {{.*}} assumes [{{.*}}"fitsu32(tid.x * m + bid.x * bdim.x * m)"]
// CHECK: kb.access load global <argument "index" argument 0> {{.*}} at <: tid.x * 4 + bid.x * bdim.x * 4>
// CHECK-NEXT: kb.access load global <argument "in" argument 1> bytes 4 type "f32" uniformity divergent{{$}}
// CHECK-NEXT: kb.access store global <argument "out" argument 2> {{.*}} at <: tid.x * 4 + bid.x * bdim.x * 4>
// CHECK-NEXT: kb.access store global <argument "out" argument 2> {{.*}} at <with [m] : tid.x * m * 4 + bid.x * (bdim.x * m) * 4> assumes [0, 1]

// Nobody says how large n is, so that the step beyond it may wrap.
__global__ void strided(float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = 0;
}

// CHECK: kb.kernel @_Z7stridedPfi {{.*}} assumes ["fits31(x)", "nowrap(i)"]
// CHECK: kb.loop "i.iter" {{.*}} assumes [0, 1]
// CHECK: kb.access store global {{.*}} assumes [0, 1]
