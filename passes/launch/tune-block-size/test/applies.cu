// RUN: kb-opt -passes='tune-block-size{size=512}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

__global__ void guarded(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  x[i] *= 2.0f;
}

#define THREADS 128

__global__ void product(float *x, int batch, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < batch * width)
    x[i] *= 2.0f;
}

// One instance is as good as none.
// CHECK: guarded<<<(n + 511) / 512, 512>>>(x, n);
template <int Size> void launch(float *x, int n) { guarded<<<(n + Size - 1) / Size, Size>>>(x, n); }

int divideUp(int a, int b) { return (a + b - 1) / b; }

void run(float *x, int n, int blockSize, int batch, int width, int *used) {
  // The grid has a constant of its own, which follows.
  // CHECK: guarded<<<(n + 511) / 512, 512>>>(x, n);
  // REMARK: String: launched with 512 threads per block instead of 128
  guarded<<<(n + 127) / 128, 128>>>(x, n);

  // A dim3, from which the grid is computed.
  // CHECK: dim3 block(512);
  // CHECK: dim3 grid((n + block.x - 1) / block.x);
  dim3 block(96);
  dim3 grid((n + block.x - 1) / block.x);
  guarded<<<grid, block>>>(x, n);

  // A function that divides and rounds up.
  // CHECK: int size = 512;
  int size = 1024;
  guarded<<<divideUp(n, size), size>>>(x, n);

  // A size that only the run knows, also in a variable of three dimensions; the launch says it.
  // CHECK: guarded<<<(n + 511) / 512, 512>>>(x, n);
  // REMARK: String: {{.*}}launched with 512 threads per block instead of ''blockSize''
  guarded<<<divideUp(n, blockSize), blockSize>>>(x, n);
  // CHECK: guarded<<<(n + 511) / 512, 512, 0, 0>>>(x, n);
  dim3 blocks(divideUp(n, blockSize)), extents(blockSize, 1, 1);
  guarded<<<blocks, extents, 0, 0>>>(x, n);

  // A macro, and a constant that serves something else.
  // CHECK: guarded<<<(n + 511) / 512, 512>>>(x, n);
  guarded<<<(n + THREADS - 1) / THREADS, THREADS>>>(x, n);
  // CHECK: int threads = 128;
  // CHECK: guarded<<<(n + 511) / 512, 512>>>(x, n);
  int threads = 128;
  *used = threads;
  guarded<<<(n + threads - 1) / threads, threads>>>(x, n);

  // The bound is a product of arguments, and their number follows nothing else.
  // CHECK: int total = batch * width;
  // CHECK-NEXT: const int block_size = 512;
  // CHECK-NEXT: int grid_size = divideUp(total, block_size);
  // CHECK-NEXT: product<<<grid_size, block_size>>>(x, batch, width);
  int total = batch * width;
  const int block_size = 64;
  int grid_size = divideUp(total, block_size);
  product<<<grid_size, block_size>>>(x, batch, width);
  // CHECK: product<<<dim3(((batch * width) + 511) / 512, batch, 1), 512>>>(x, batch, width);
  product<<<dim3(divideUp(width * batch, THREADS), batch), dim3(THREADS)>>>(x, batch, width);
  launch<128>(x, n);
}
