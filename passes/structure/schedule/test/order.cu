// The schedules of all sketches stand in one order, by what the launch in sight should take.
// RUN: kb-opt --emit=schedules %s | FileCheck %s
// RUN: kb-opt -passes=schedule -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s

// A team would have three terms for its eight lanes.
// CHECK:      kernel 'channels'
// CHECK-NEXT: nest: {{.*}}points=
// CHECK-NEXT: modelled {{[0-9.]+}} us, {{[a-z0-9]+ +}}map {{.*}}lanes=i
// REMARK: added 'channels_{{w}}ide' ({{.*}}; modelled {{[0-9.]+}} us ({{[a-z0-9]+}}), the best 'rows' {{[0-9.]+}} us
__global__ void channels(float *y, const float *x, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int j = 0; j < c; ++j)
    s += x[i * c + j];
  y[i] = s;
}

// The same kernel with long rows.
// CHECK:      kernel 'lines'
// CHECK-NEXT: nest: {{.*}}points=
// CHECK-NEXT: modelled {{[0-9.]+}} us, {{[a-z0-9]+ +}}rows
__global__ void lines(float *y, const float *x, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int j = 0; j < c; ++j)
    s += x[i * c + j];
  y[i] = s;
}

// A filter of 3 x 3 over one channel: three values for the 1,024 threads of a block, or for a team.
// CHECK:      kernel 'blur'
// CHECK-NEXT: nest: {{.*}}points=
// CHECK-NEXT: modelled {{[0-9.]+}} us, {{[a-z0-9]+ +}}map {{.*}}lanes=j
// CHECK-NOT:  kernel
// CHECK:      modelled {{[0-9.]+}} us, {{[a-z0-9]+ +}}rows
__global__ void blur(float *y, const float *x, const float *w, int h, int l, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (j >= l)
    return;
  float s = 0;
  for (int a = 0; a < k; ++a)
    for (int b = 0; b < k; ++b)
      if (i + a < h && j + b < l)
        s += x[(i + a) * l + j + b] * w[a * k + b];
  y[i * l + j] = s;
}

// Nothing says how large the arrays are: the order is that of the sketches.
// CHECK:      kernel 'unknown'
// CHECK-NEXT: not modelled {{.*}}rows
__global__ void unknown(float *y, const float *x, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int j = 0; j < c; ++j)
    s += x[i * c + j];
  y[i] = s;
}

// What data decides has no modelled time.
// CHECK:      kernel 'counts'
// CHECK-NEXT: nest: {{.*}}points=
// CHECK-NEXT: not modelled {{.*}}scatter
__global__ void counts(int *bins, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&bins[x[i] & 63], 1);
}

// CHECK:      kernel 'last': not raised: {{.+}}
__global__ void last(float *y, const float *x) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(y + threadIdx.x), "f"(x[threadIdx.x]));
}

// CHECK:      kernel 'nothing'
__global__ void nothing(float *y, int n) {}

void run(float *y, const float *x, const float *w, int n, int c) {
  channels<<<1 << 12, 256>>>(y, x, 1 << 20, 3);
  lines<<<32, 256>>>(y, x, 8192, 4096);
  blur<<<dim3(4, 1024), 256>>>(y, x, w, 1024, 1024, 3);
  unknown<<<(n + 255) / 256, 256>>>(y, x, n, c);
}
void more(int *bins, const int *x, float *y, const float *f) {
  counts<<<1024, 256>>>(bins, x, 262144);
  last<<<1, 32>>>(y, f);
  nothing<<<1, 32>>>(y, 32);
}
