// Streams that the default one does not wait for, and a wait for one stream after which the host reads memory itself.
// RUN: kb-opt -passes=batch-launches --remarks-file=%t.yaml --quiet -o %t.cu %s && diff %s %t.cu
// RUN: FileCheck %s < %t.yaml
// RUN: kb-opt -passes=batch-launches --remarks-file=%t.shared.yaml --quiet -o %t.cu %s -- -DSHARED && diff %s %t.cu
// RUN: FileCheck --check-prefix=SHARED %s < %t.shared.yaml
// RUN: kb-opt -passes=batch-launches --remarks-file=%t.thread.yaml --quiet -o %t.cu %s -- -DPLAIN --default-stream per-thread && diff %s %t.cu
// RUN: FileCheck %s < %t.thread.yaml
// CHECK: on streams of their own: the program has streams that do not wait for the default one
// SHARED: on streams of their own: the program waits for one of the streams and may read its memory then
__global__ void addOne(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += 1.0f;
}
void streams(float *other) {
  float *x = other;
  cudaStream_t all[4], apart;
  for (int i = 0; i < 4; ++i)
    cudaStreamCreate(&all[i]);
#ifdef SHARED
  cudaMallocManaged(&x, 8192);
#elif !defined(PLAIN)
  cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking);
#endif
  for (int i = 0; i < 8; ++i)
    addOne<<<2, 128, 0, all[i % 4]>>>(x + i * 256, 256);
  cudaStreamSynchronize(all[3]);
  other[0] = x[2000];
}
