// Arrays and pointers in structs that a kernel is given by value, constant structs, accessors, pitched rows, and variables of the device.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

struct Field {
  float *to;
  const float *from;
  int count;
  int strides[2];
  float weights[3];
};
__constant__ Field setup;

// CHECK: kb.nest @_Z6pickedPfi
// CHECK: kb.store {{.*}} "$0 * $1.weights[2]" [{{.*}}, #kb.operand<element <global "setup">
__global__ void picked(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = y[i] * setup.weights[2];
}

// CHECK: kb.nest @_Z8weighted5FieldPf{{.*}} symbols [{{.*}}"f.count" param argument 0 offset 16>
// CHECK: kb.over "d" any extent <{{.*}} : 3>
// CHECK: kb.store {{.*}} : i * 3 + d>> "$0 * f.weights[$1]" [{{.*}} : d>>]
__global__ void weighted(Field f, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < f.count)
    for (int d = 0; d < 3; d++)
      y[3 * i + d] *= f.weights[d];
}

// CHECK: kb.nest @_Z7strided5Field{{.*}}"f.strides[0]" param argument 0 offset 20>, #kb.symbol<"f.strides[1]" param argument 0 offset 24>
// CHECK: kb.store <element <argument "f.to" argument 0> {{.*}} : i * f.strides[0]>> "$0" [{{.*}}"f.from" argument 0 offset 8> {{.*}} : i * f.strides[1]>>]
__global__ void strided(Field f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < f.count)
    f.to[i * f.strides[0]] = f.from[i * f.strides[1]];
}

template <class T> struct View {
  T *data;
  long sizes[2], strides[2];
  __device__ T &operator()(long a, long b) const { return data[a * strides[0] + b * strides[1]]; }
  __device__ long size(int d) const { return sizes[d]; }
};
// CHECK: kb.nest @_Z6halved4View{{.*}} dims ["i"] extents [{{.*}} : x.sizes[0]>] {{.*}} racefree ["y.data"]
// CHECK: kb.over "j" {{.*}} extent <{{.*}} : x.sizes[1]>
// CHECK: kb.store <element <argument "y.data" argument 0> {{.*}} : i * y.strides[0] + j * y.strides[1]>>
__global__ void halved(View<float> y, View<const float> x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < x.size(0))
    for (int j = 0; j < x.size(1); j++)
      y(i, j) = 0.5f * x(i, j);
}

// CHECK: kb.nest @_Z7pitchedPfPKfmii dims ["y", "x"] {{.*}} requires [{{.*}}(pitch mod 4) * -1>
// CHECK: kb.store {{.*}} : x + y * (pitch floordiv 4)>>
__global__ void pitched(float *out, const float *in, size_t pitch, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    const float *row = (const float *)((const char *)in + y * pitch);
    float *to = (float *)((char *)out + y * pitch);
    to[x] = 2.0f * row[x];
  }
}

struct Cell {
  float mass, speed, flux[3];
};
// Rows of eight cells; the blocks may have fewer threads.
// CHECK: kb.nest @_Z5cubesPA8_A8_4Cell dims [{{.*}}] extents [{{.*}} : bdim.y>, {{.*}} : gdim.x>, {{.*}} : bdim.x>]
// CHECK: kb.store {{.*}}+ 2>> "$0 + $1"
__global__ void cubes(Cell c[][8][8]) {
  int x = blockIdx.x, y = threadIdx.y, z = threadIdx.x;
  c[x][y][z].flux[0] = c[x][y][z].mass + c[x][y][z].speed;
}

__device__ float table[1024];
__device__ int marks[1024];
// CHECK: kb.nest @_Z6markedi
// CHECK: kb.store <element <global "table">
// CHECK: kb.store <element <global "marks">
__global__ void marked(int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    table[i] = 0.5f * table[i];
    marks[i] = i;
  }
}
// CHECK: kb.unraised @_Z8markedInPfi "it stores to the variable 'table', which parameters may refer to as well"
__global__ void markedIn(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    table[i] = y[i];
}
