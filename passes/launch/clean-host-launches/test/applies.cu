// RUN: kb-opt -passes=clean-host-launches --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
__global__ void add(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += a;
}

int blocks(int n) { return (n + 255) / 256; }

// Between two launches: the last wait stays.
// CHECK-LABEL: void pair
// CHECK-NEXT: add<<<blocks(n), 256>>>(x, 1, n);
// CHECK-NEXT: float a = 2;
// CHECK-NEXT: add<<<dim3(blocks(n)), dim3(256)>>>(x + 1, a, n - 1);
// CHECK-NEXT: cudaDeviceSynchronize();
// CHECK-NEXT: }
// REMARK: !Passed
// REMARK: String: removed a cudaDeviceSynchronize
// REMARK: !Missed
// REMARK: String: the function returns after the wait, and its caller may read results
void pair(float *x, int n) {
  add<<<blocks(n), 256>>>(x, 1, n);
  cudaDeviceSynchronize();
  float a = 2;
  add<<<dim3(blocks(n)), dim3(256)>>>(x + 1, a, n - 1);
  cudaDeviceSynchronize();
}

// A copy to the host waits by itself.
// CHECK-LABEL: void copied
// CHECK: add<<<blocks(n), 256>>>(x, 1, n);
// CHECK-NEXT: cudaMemcpy(y, x, n * sizeof(float), cudaMemcpyDeviceToHost);
void copied(float *x, float *y, int n) {
  add<<<blocks(n), 256>>>(x, 1, n);
  cudaDeviceSynchronize();
  cudaMemcpy(y, x, n * sizeof(float), cudaMemcpyDeviceToHost);
}

// Behind the loop, and of two buffers the one whose size stays.
// CHECK-LABEL: void loops
// CHECK: float *same = nullptr;
// CHECK-NEXT: for (int step = 1; step < steps; ++step) {
// CHECK-NEXT: float *grows;
// CHECK-NEXT: if (!same)
// CHECK-NEXT: cudaMalloc((void **)&same, n * sizeof(float));
// CHECK-NEXT: cudaMalloc(&grows, step * sizeof(float));
// CHECK-NEXT: add<<<blocks(n), 256>>>(same, step, n);
// CHECK-NEXT: add<<<blocks(n), 256>>>(grows, step, step);
// CHECK-NEXT: cudaFree(grows);
// CHECK-NEXT: }
// CHECK-NEXT: cudaDeviceSynchronize();
// CHECK-NEXT: cudaFree(same);
// CHECK-LABEL: void nested
// CHECK: add<<<blocks(n), 256>>>(x, k, n);
// CHECK-NEXT: }
// CHECK-NEXT: cudaDeviceSynchronize();
// CHECK-NEXT: }
void loops(int n, int steps) {
  for (int step = 1; step < steps; ++step) {
    float *same;
    float *grows;
    cudaMalloc((void **)&same, n * sizeof(float));
    cudaMalloc(&grows, step * sizeof(float));
    add<<<blocks(n), 256>>>(same, step, n);
    cudaDeviceSynchronize();
    add<<<blocks(n), 256>>>(grows, step, step);
    cudaFree(same);
    cudaFree(grows);
  }
}
void nested(float *x, int n) {
  for (int step = 0; step < 3; ++step) {
    for (int k = 0; k < n; ++k) {
      add<<<blocks(n), 256>>>(x, k, n);
      cudaDeviceSynchronize();
    }
  }
}
