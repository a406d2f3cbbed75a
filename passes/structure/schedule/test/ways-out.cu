// While and do loops, breaks and returns that end a range, and a switch compute the same on another schedule.
// RUN: kb-opt --quiet -passes='schedule{kernel=whileSums as="rows team=32"},schedule{kernel=doSums as="rows team=8"},schedule{kernel=breaks as="map"},schedule{kernel=leaves as="map"},schedule{kernel=modes as="map"},schedule{kernel=halves as="rows team=32"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// JUDGED: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {n: 61, m: 33}
//   test-sizes: [{n: 1, m: 1}, {n: 130, m: 5}]
//   parameters:
//     - {name: a, type: f32, shape: "n", role: out}
//     - {name: b, type: f32, shape: "n", role: out}
//     - {name: c, type: f32, shape: "n", role: inout, init: "uniform(-1, 1)"}
//     - {name: d, type: f32, shape: "n", role: inout, init: "uniform(-1, 1)"}
//     - {name: e, type: f32, shape: "n", role: out}
//     - {name: f, type: f32, shape: "n", role: out}
//     - {name: x, type: f32, shape: "n * m", role: in, init: "uniform(0, 1)"}
//     - {name: n, value: n}
//     - {name: m, value: m}

// CHECK: {{w}}hileSumsRows<<<
// CHECK: {{d}}oSumsRows<<<
// CHECK: breaks_{{.*}}<<<
// CHECK: leaves_{{.*}}<<<
// CHECK: modes_{{.*}}<<<
// CHECK: halves_{{.*}}<<<

__global__ void whileSums(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (i < n) {
    float s = 0.0f;
    int j = m - 1;
    while (j >= 0) {
      s += x[i * m + j];
      --j;
    }
    y[i] = s;
    i += blockDim.x * gridDim.x;
  }
}

__global__ void doSums(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0.0f;
  int j = 0;
  do {
    s += x[i * m + j];
    ++j;
  } while (j < m);
  y[i] = s;
}

__global__ void breaks(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = 0; j < 4; ++j) {
    int at = i * 4 + j;
    if (at >= n)
      break;
    y[at] = 2.0f * x[at];
  }
}

__global__ void leaves(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = 0; j < 4; ++j) {
    int at = i * 4 + j;
    if (at >= n)
      return;
    y[at] = 3.0f * x[at];
  }
}

__global__ void modes(float *y, const float *x, int n, int mode) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i] - 0.5f;
  switch (mode % 3) {
  case 0:
    v = fmaxf(v, 0.0f);
    break;
  case 1:
    v = v * v;
    break;
  default:
    v = -v;
  }
  y[i] = v;
}

__global__ void halves(float *y, const float *x, int m) {
  __shared__ float part[64];
  int t = threadIdx.x, j = t;
  float sum = 0.0f;
  while (j < m) {
    sum += x[blockIdx.x * m + j];
    j += blockDim.x;
  }
  part[t] = sum;
  __syncthreads();
  int h = blockDim.x / 2;
  while (h != 0) {
    if (t < h)
      part[t] += part[t + h];
    __syncthreads();
    h /= 2;
  }
  if (t == 0)
    y[blockIdx.x] = part[0];
}

void run(float *a, float *b, float *c, float *d, float *e, float *f, const float *x, int n, int m) {
  whileSums<<<3, 64>>>(a, x, n, m);
  doSums<<<(n + 63) / 64, 64>>>(b, x, n, m);
  breaks<<<(n + 255) / 256, 64>>>(c, x, n);
  leaves<<<(n + 255) / 256, 64>>>(d, x, n);
  modes<<<(n + 63) / 64, 64>>>(e, x, n, m);
  halves<<<n, 64>>>(f, x, m);
}
