// Rows in which a value grows from element to element: a warp or a block takes a row.
// RUN: kb-opt --quiet -passes='schedule{kernel=sums},schedule{kernel=before as="scan team=128"},schedule{kernel=falling},schedule{kernel=products as="scan team=32 rows=4"},schedule{kernel=masked},schedule{kernel=highest},schedule{kernel=both as="scan vector=1"},schedule{kernel=upTo},schedule{kernel=ofBlock as="scan"},schedule{kernel=inPlace as="scan vector=2"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
#include <cstdio>
#include <vector>

// CHECK: float sums_{{s}}can_before(float &value)
// CHECK: upTo = other + upTo;
// CHECK: sums_{{s}}can(const float
// CHECK: for (int tile = 0; tile < n; tile += lanes * width) {
// CHECK: *reinterpret_cast<float4 *>(xs) =
// CHECK: *reinterpret_cast<const float4 *>(&x[
// CHECK: own = own + (xs[e]);
// CHECK: float upTo = s + (sums_{{s}}can_before(own));
// CHECK: ys[e] = upTo;
__global__ void sums(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float s = 0;
    for (int j = 0; j < n; ++j) {
      s += x[r * n + j];
      y[r * n + j] = s;
    }
  }
}

// The sum before an element, with what follows the row.
// CHECK: before_{{s}}can(const float
// CHECK: ys[e] = upTo;
// CHECK-NEXT: upTo = upTo + (xs[e]);
// CHECK: if (threadIdx.x == 0)
// CHECK-NEXT: totals[r] = s * 0.5f;
__global__ void before(const float *x, float *y, float *totals, int rows, int n) {
  int r = blockIdx.x;
  if (threadIdx.x == 0) {
    float s = totals[r];
    for (int j = 0; j < n; ++j) {
      y[r * n + j] = s;
      s += x[r * n + j];
    }
    totals[r] = s * 0.5f;
  }
}

// CHECK: falling_{{s}}can(const float
// CHECK: n - (first + width - 1) - 1]);
// CHECK: xs[width - 1 - e]
__global__ void falling(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0;
  for (int j = n - 1; j >= 0; --j) {
    s += x[r * n + j];
    y[r * n + j] = s;
  }
}

// A warp for a row.
// CHECK: products_{{s}}can_before(double &value)
// CHECK-NOT: __shared__
// CHECK: products_{{s}}can(const float
// CHECK: double own = 1.0;
__global__ void products(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  double s = 1;
  for (int j = 0; j < n; ++j) {
    s *= 1 + 0.01 * x[r * n + j];
    y[r * n + j] = s;
  }
}

// CHECK: masked_{{s}}can(const float
// CHECK: if (ms[e])
// CHECK-NEXT: own = own +
__global__ void masked(const float *x, const bool *m, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0;
  for (int j = 0; j < n; ++j) {
    if (m[r * n + j])
      s += x[r * n + j];
    y[r * n + j] = s;
  }
}

// Integers keep every bit.
// CHECK: highest_{{s}}can(const int
// CHECK: int own = -2147483647 - 1;
__global__ void highest(const int *x, int *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  int top = -100;
  for (int j = 0; j < n; ++j) {
    top = max(top, x[r * n + j]);
    y[r * n + j] = top - j;
  }
}

// Two values at once.
// CHECK: both_{{s}}can(const float
// CHECK: ownOfs
// CHECK: ownOfq
__global__ void both(const float *x, float *y, float *z, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0, q = 0;
  for (int j = 0; j < n; ++j) {
    float v = x[r * n + j] - 0.25f;
    s += v;
    q += v * v;
    y[r * n + j] = s / (j + 1);
    z[r * n + j] = q;
  }
}

// Each element sums what comes before it.
// CHECK: upTo{{S}}can(const float
// CHECK: own += xs[e];
__global__ void upTo(const float *x, float *y, int rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * n)
    return;
  int r = i / n, c = i % n;
  float s = 0;
  for (int j = 0; j <= c; ++j)
    s += x[r * n + j];
  y[i] = s;
}

// A scan of a block, of which the last one has fewer elements.
// CHECK: ofBlock{{S}}can(const float
// CHECK: if (t + x * 128 < n)
__global__ void ofBlock(const float *in, float *out, int n) {
  __shared__ float s[128];
  int t = threadIdx.x, g = blockIdx.x * 128 + t;
  s[t] = g < n ? in[g] : 0;
  __syncthreads();
  for (int o = 1; o < 128; o *= 2) {
    float v = t >= o ? s[t - o] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (g < n)
    out[g] = s[t];
}

// Elements are replaced by their sums.
// CHECK: inPlace{{S}}can(float
// CHECK: xs[e] = upTo;
__global__ void inPlace(float *x, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0;
  for (int j = 0; j < n; ++j) {
    s += x[r * n + j];
    x[r * n + j] = s;
  }
}

// CHECK: sums_{{s}}can<<<rows, 256>>>
// CHECK: products_{{s}}can<<<{{.*}}, dim3(32, 4)>>>
template <class T> T *upload(const std::vector<T> &host) {
  T *device;
  cudaMalloc(&device, host.size() * sizeof(T));
  cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

int main(int argc, char **) {
  const int rows = 3 + argc, n = 1300;
  std::vector<float> host(rows * n);
  std::vector<int> numbers(rows * n);
  std::vector<unsigned char> bits(rows * n);
  for (int i = 0; i < rows * n; ++i) {
    host[i] = (i * 37 % 101) / 128.0f;
    numbers[i] = i * 37 % 1009;
    bits[i] = i % 3 != 1;
  }
  float *x = upload(host), *w = upload(host), *t = upload(std::vector<float>(64, 0.5f));
  int *k = upload(numbers);
  bool *m = (bool *)upload(bits);
  std::vector<float *> y;
  for (int i = 0; i < 9; ++i)
    y.push_back(upload(host));
  int *z = upload(numbers);
  sums<<<(rows + 127) / 128, 128>>>(x, y[0], rows, n);
  before<<<rows, 32>>>(x, y[1], t, rows, n);
  falling<<<(rows + 127) / 128, 128>>>(x, y[2], rows, n);
  products<<<(rows + 127) / 128, 128>>>(x, y[3], rows, n);
  masked<<<(rows + 127) / 128, 128>>>(x, m, y[4], rows, n);
  highest<<<(rows + 127) / 128, 128>>>(k, z, rows, n);
  both<<<(rows + 127) / 128, 128>>>(x, y[5], y[6], rows, n);
  upTo<<<(rows * n + 127) / 128, 128>>>(x, y[7], rows, n);
  ofBlock<<<(rows * n + 127) / 128, 128>>>(x, y[8], rows * n);
  inPlace<<<(rows + 127) / 128, 128>>>(w, rows, n);
  for (float *each : {y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7], y[8], w}) {
    cudaMemcpy(host.data(), each, rows * n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g %g\n", host[7], host[rows * n - 1]);
  }
  cudaMemcpy(numbers.data(), z, rows * n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(host.data(), t, rows * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%d %g\n", numbers[n], host[1]);
}
