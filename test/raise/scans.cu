// Prefix sums that the threads of a block form together are sums of what comes before.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// CHECK: kb.nest @_Z9inclusive{{.*}} dims ["x", "t"]
// CHECK: kb.over "before" reduction extent <over [x, t] : t + 1> team
// CHECK-NEXT: kb.reduce "sSum" "add" {{.*}}"$0" [{{.*}}"in"{{.*}} : x * 256 + before>>]
// CHECK: kb.store <element <argument "out" {{.*}} : t + x * 256>> "sSum"
__global__ void inclusive(const float *in, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, g = blockIdx.x * 256 + t;
  s[t] = g < n ? in[g] : 0;
  __syncthreads();
  for (int o = 1; o < 256; o *= 2) {
    float v = t >= o ? s[t - o] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (g < n)
    out[g] = s[t];
}

// The sum before the own one, and that of the whole block.
// CHECK: kb.nest @_Z9exclusive
// CHECK: extent <over {{.*}} : t> team
// CHECK: kb.store <element <argument "out"
// CHECK: extent <over {{.*}} : 128> team
// CHECK: kb.store <element <argument "totals"
__global__ void exclusive(const int *in, int *out, int *totals) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  for (unsigned o = 1; o < blockDim.x; o <<= 1) {
    __syncthreads();
    int v = 0;
    if (t >= o)
      v = s[t] + s[t - o];
    __syncthreads();
    if (t >= o)
      s[t] = v;
  }
  __syncthreads();
  out[blockIdx.x * 128 + t] = t > 0 ? s[t - 1] : 0;
  if (t == 0)
    totals[blockIdx.x] = s[127];
}

// Nothing keeps a thread from storing before another one has loaded.
// CHECK: kb.unraised @_Z5early
__global__ void early(const int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  for (int o = 1; o < 128; o *= 2) {
    if (t >= o)
      s[t] += s[t - o];
    __syncthreads();
  }
  out[blockIdx.x * 128 + t] = s[t];
}

// Sums of 64 elements, not of all before.
// CHECK: kb.unraised @_Z6window
__global__ void window(const int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  for (int o = 1; o < 64; o *= 2) {
    int v = t >= o ? s[t - o] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  out[blockIdx.x * 128 + t] = s[t];
}

void run(const float *x, float *y, const int *in, int *out, int *totals, int n) {
  inclusive<<<(n + 255) / 256, 256>>>(x, y, n);
  exclusive<<<n / 128, 128>>>(in, out, totals);
  early<<<n / 128, 128>>>(in, out);
  window<<<n / 128, 128>>>(in, out);
}
