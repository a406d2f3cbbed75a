// Loops in other words than `for (…; …; …)`: while and do loops that count, breaks and returns that only end the range, switches.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// CHECK: kb.nest @{{.*}}gridStride{{.*}} dims ["i"] extents [{{.*}} : n>]
// CHECK: kb.store
__global__ void gridStride(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (i < n) {
    y[i] = 2.0f * x[i];
    i += blockDim.x * gridDim.x;
  }
}

// CHECK: kb.nest @{{.*}}blockDot{{.*}}
// CHECK: kb.over "tid" reduction
// CHECK: kb.reduce "temp" "add"
__global__ void blockDot(float *c, const float *a, const float *b, int n) {
  __shared__ float cache[256];
  int tid = threadIdx.x, at = threadIdx.x;
  float temp = 0;
  while (tid < n) {
    temp += a[blockIdx.x * n + tid] * b[tid];
    tid += blockDim.x;
  }
  cache[at] = temp;
  __syncthreads();
  int i = blockDim.x / 2;
  while (i != 0) {
    if (at < i)
      cache[at] += cache[at + i];
    __syncthreads();
    i /= 2;
  }
  if (at == 0)
    c[blockIdx.x] = cache[0];
}

// CHECK: kb.nest @{{.*}}endless{{.*}}
// CHECK: kb.over "j" reduction extent <{{.*}} : m>
__global__ void endless(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int j = 0;; ++j) {
    if (j >= m)
      break;
    s += x[i * m + j];
  }
  y[i] = s;
}

// A do loop runs at least once.
// CHECK: kb.nest @{{.*}}atLeastOnce{{.*}}requires [{{.*}} : m - 1>
__global__ void atLeastOnce(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  int j = 0;
  do {
    s += x[i * m + j];
    ++j;
  } while (j < m);
  y[i] = s;
}

// CHECK: kb.nest @{{.*}}breaks{{.*}} dims ["j"] extents [{{.*}} : n>]
__global__ void breaks(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = 0; j < 8; ++j) {
    int at = i * 8 + j;
    if (at >= n)
      break;
    y[at] = 2.0f * x[at];
  }
}

// CHECK: kb.nest @{{.*}}leaves{{.*}} dims ["j"] extents [{{.*}} : n>]
__global__ void leaves(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = 0; j < 8; ++j) {
    int at = i * 8 + j;
    if (at >= n)
      return;
    y[at] = 2.0f * x[at];
  }
}

// CHECK: kb.nest @{{.*}}modes{{.*}}
// CHECK: kb.when "$0 == 0 || $1 == 3"
// CHECK: fmaxf
// CHECK: kb.when "!($0 == 0) && !($1 == 3)"
// CHECK: kb.when "" [] where <{{.*}}mode - 1 == 0 exact>
// CHECK: tanhf
// CHECK: kb.when "!($0 == 1)"
// CHECK: "-v"
__global__ void modes(float *y, const float *x, int n, int mode) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i];
  switch (mode) {
  case 0:
  case 3:
    v = fmaxf(v, 0.0f);
    break;
  case 1: {
    v = tanhf(v);
    break;
  }
  default:
    v = -v;
  }
  y[i] = v;
}

// CHECK: kb.nest @{{.*}}untilNegative
// CHECK: kb.let "runs" : "bool" "true"
// CHECK: kb.over "j" ascending extent <{{.*}} : n> while "runs"
// CHECK: kb.when "taken" [] {
// CHECK-NEXT: kb.let "runs" : "" "false" [] reassigns
// CHECK: kb.when "!taken" [] {
// CHECK-NEXT: "s + ($0)"
__global__ void untilNegative(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int j = 0; j < n; ++j) {
    if (x[j] < 0)
      break;
    s += x[j];
  }
  y[i] = s;
}

// What is read before the test may not exist, so that the test is no end of the range.
// CHECK: kb.nest @{{.*}}readsFirst
// CHECK: kb.over "j" ascending extent <{{.*}} : 8> while "runs"
// CHECK-NEXT: kb.let "v" : "float" "$0"
__global__ void readsFirst(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int j = 0; j < 8; ++j) {
    float v = x[i + j];
    if (i + j >= n)
      break;
    s += v;
  }
  y[i] = s;
}

// The condition does not stay as it is.
// CHECK: kb.nest @{{.*}}unlessEarly
// CHECK: kb.over "j" ascending extent <{{.*}} : n> while "runs"
__global__ void unlessEarly(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int j = 0; j < n; ++j) {
    if (j < i)
      break;
    s += x[j];
  }
  y[i] = s;
}

// A return in a loop: nothing is done after it.
// CHECK: kb.nest @{{.*}}storesAfterwards
// CHECK-NEXT: kb.let "stays" : "bool" "true"
// CHECK: kb.over "j" ascending extent <{{.*}} : 8> while "stays"
// CHECK: kb.when "stays" [] {
// CHECK-NEXT: kb.store
__global__ void storesAfterwards(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int j = 0; j < 8; ++j) {
    if (i + j >= n)
      return;
    s += x[i + j];
  }
  y[i] = s;
}

// A case that goes on with the next one.
// CHECK: kb.nest @{{.*}}fallsThrough
// CHECK: kb.when "" [] where <{{.*}}mode == 0 exact>
// CHECK-NEXT: "2"
// CHECK-NEXT: "v * (3)"
__global__ void fallsThrough(float *y, int mode) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = 1;
  switch (mode) {
  case 0:
    v = 2;
  case 1:
    v *= 3;
  }
  y[i] = v;
}

// The variable moves on in the middle.
// CHECK: kb.nest @{{.*}}movesEarly
// CHECK: kb.over "turn" ascending extent <{{.*}} : 4611686018427387904> while "runs"
// CHECK: kb.let "index" : "int" "i" []
// CHECK-NEXT: at <{{.*}}with [index] : index>
__global__ void movesEarly(float *y, const float *x, int n) {
  int i = 0;
  float s = 0;
  while (i < n) {
    ++i;
    s += x[i];
  }
  y[threadIdx.x] = s;
}
