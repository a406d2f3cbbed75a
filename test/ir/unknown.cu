// What cannot be known is said to be unknown: a gather. Arithmetic that may wrap says what it rests on.
// RUN: kb-opt --emit=kb-ir %s | FileCheck %s

__global__ void gather(const int *index, const float *in, float *out, unsigned m) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[index[i]];
  out[i * m] = 0;
}

// CHECK: kb.kernel {{.*}} assumes [{{.*}}"fitsu32(m * tid.x + m * bid.x * bdim.x)"]
// CHECK: kb.access load global <argument "index" argument 0> {{.*}} at <: tid.x * 4 + bid.x * bdim.x * 4>
// CHECK-NEXT: kb.access load global <argument "in" argument 1> bytes 4 type "f32" uniformity divergent{{$}}
// CHECK-NEXT: kb.access store global <argument "out" argument 2> {{.*}} at <: tid.x * 4 + bid.x * bdim.x * 4>
// CHECK-NEXT: kb.access store global <argument "out" argument 2> {{.*}} at <with m : {{.*}}> assumes [{{.*}}]
