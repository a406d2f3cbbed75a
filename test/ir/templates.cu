// Templates, a functor, a struct argument, an inlined device function; shared memory and barriers.
// RUN: kb-opt --emit=kb-ir %s | FileCheck %s

struct Scale {
  float factor;
  __device__ float operator()(float value) const { return factor * value; }
};
struct View {
  float *data;
  int size;
};
__device__ float right(const View &view, int i) { return view.data[i + 1]; }

template <typename T, typename Op, int Side>
__global__ void transform(T *x, Op op) {
  __shared__ T tile[Side][Side];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * Side + threadIdx.x];
  __syncthreads();
  x[threadIdx.y * Side + threadIdx.x] = op(tile[threadIdx.x][threadIdx.y]);
}

__global__ void shift(View view, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= view.size)
    return;
  out[i] = right(view, i);
}

void run(float *x, View view) {
  dim3 block(16, 16);
  transform<float, Scale, 16><<<1, block>>>(x, Scale{2.0f});
  shift<<<8, 128>>>(view, x);
}

// CHECK: kb.kernel @{{.*}}transform{{.*}} "transform<float, Scale, 16>"
// CHECK-NEXT: kb.shared "tile" : "float" element 4 extents [16, 16]
// CHECK-NEXT: kb.access load global <argument "x" argument 0> {{.*}} at <: tid.x * 4 + tid.y * 64>
// CHECK-NEXT: kb.access store shared <global "tile"> {{.*}} at <: tid.x * 4 + tid.y * 64>
// CHECK-NEXT: kb.barrier block uniform
// CHECK-NEXT: kb.access load shared <global "tile"> {{.*}} at <: tid.x * 64 + tid.y * 4>
// CHECK: kb.kernel @{{.*}}shift{{.*}} "shift" {{.*}} symbols [#kb.symbol<"view.size" param argument 0 offset 8>]
// CHECK-NEXT: kb.branch divergent "i >= view.size" guard
// CHECK-NEXT: kb.access load global <argument "view.data" argument 0> {{.*}} at <: tid.x * 4 + bid.x * bdim.x * 4 + 4> where <with [view.size] : view.size - tid.x - bid.x * bdim.x - 1 >= 0 exact>
// CHECK: kb.launch @{{.*}}transform{{.*}} block "block" [16, 16, 1]
