// A difference, its square, and sums of blocks, which a second kernel adds; the host around them.
// promise: reassociates
// host: differs
// control 1: the first two kernels fused
// control 2: all kernels fused: the last block, found by a counter in memory, adds the sums
// control 3: two streams, halves of the arrays, and a wait for both
// control 4: results read in four pieces
// control 5: asynchronous copies and pinned memory
// control 6: one allocation for all arrays
// control 7: a loop that asks the stream whether it has ended
// control 8: events between two streams
// control 9: a grid as large as the device holds at once
// control 10: managed memory for the results
// control 11: memory of the stream's pool
// control 13: two streams, each uploads, computes and reads its half
// control 12: a kernel that clears in the place of cudaMemset, a template for the size of blocks
// REQUIRES: long
#include "harness.h"
#include <algorithm>

__global__ void square(const float *a, const float *b, float *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float difference = a[i] - b[i];
    y[i] = difference * difference;
  }
}

__device__ float blockSum(float value) {
  __shared__ float parts[128];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half)
      parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[0];
}

__global__ void sumBlocks(const float *y, float *sums, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float sum = blockSum(i < n ? y[i] : 0.0f);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = sum;
}

__global__ void addSums(const float *sums, float *total, int blocks) {
  const float sum = blockSum(threadIdx.x < blocks ? sums[threadIdx.x] : 0.0f);
  if (threadIdx.x == 0)
    *total = sum;
}

#if VARIANT == 1 || VARIANT == 2
__global__ void fused(const float *a, const float *b, float *y, float *sums, float *total, unsigned *counter, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  float value = 0;
  if (i < n) {
    value = (a[i] - b[i]) * (a[i] - b[i]);
    y[i] = value;
  }
  const float sum = blockSum(value);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = sum;
#if VARIANT == 2
  __shared__ bool isLast;
  if (threadIdx.x == 0) {
    __threadfence();
    isLast = atomicAdd(counter, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (isLast) {
    __threadfence();
    const float all = blockSum(threadIdx.x < gridDim.x ? *const_cast<volatile float *>(sums + threadIdx.x) : 0.0f);
    if (threadIdx.x == 0)
      *total = all;
  }
#endif
}
#endif

#if VARIANT == 12
template <int size> __global__ void clear(float *sums, int n) {
  if (blockIdx.x * size + threadIdx.x < n)
    sums[blockIdx.x * size + threadIdx.x] = 0;
}
#endif

int main() {
  const int n = 4000, blocks = (n + 127) / 128;
  const std::vector<float> left = randomVector<float>(n, 1), right = randomVector<float>(n, 2);
  float *a, *b, *y, *sums, *total;
#if VARIANT == 6
  float *all = onDevice<float>(3 * 4096 + 256 + 64);
  a = all, b = a + 4096, y = b + 4096, sums = y + 4096, total = sums + 256;
  cudaMemcpy(a, left.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(b, right.data(), n * sizeof(float), cudaMemcpyHostToDevice);
#elif VARIANT == 11
  cudaMallocAsync(&a, n * sizeof(float), 0);
  cudaMallocAsync(&b, n * sizeof(float), 0);
  cudaMemcpyAsync(a, left.data(), n * sizeof(float), cudaMemcpyHostToDevice, 0);
  cudaMemcpyAsync(b, right.data(), n * sizeof(float), cudaMemcpyHostToDevice, 0);
  cudaMallocAsync(&y, n * sizeof(float), 0);
  cudaMallocAsync(&sums, blocks * sizeof(float), 0);
  cudaMallocAsync(&total, sizeof(float), 0);
#elif VARIANT == 5
  float *pinned;
  cudaMallocHost(&pinned, 2 * n * sizeof(float));
  std::copy(left.begin(), left.end(), pinned);
  std::copy(right.begin(), right.end(), pinned + n);
  a = onDevice<float>(n), b = onDevice<float>(n);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMemcpyAsync(a, pinned, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(b, pinned + n, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  y = onDevice<float>(n), sums = onDevice<float>(blocks), total = onDevice<float>(1);
#else
#if VARIANT == 13
  a = onDevice<float>(n), b = onDevice<float>(n);
#else
  a = toDevice(left), b = toDevice(right);
#endif
#if VARIANT == 10
  cudaMallocManaged(&y, n * sizeof(float));
#else
  y = onDevice<float>(n);
#endif
  sums = onDevice<float>(blocks), total = onDevice<float>(1);
#endif
#if VARIANT == 12
  clear<64><<<(blocks + 63) / 64, 64>>>(sums, blocks);
#else
  cudaMemset(sums, 0, blocks * sizeof(float));
#endif

#if VARIANT == 1
  fused<<<blocks, 128>>>(a, b, y, sums, total, nullptr, n);
  addSums<<<1, 128>>>(sums, total, blocks);
#elif VARIANT == 2
  unsigned *counter = onDevice<unsigned>(1);
  cudaMemset(counter, 0, sizeof(unsigned));
  fused<<<blocks, 128>>>(a, b, y, sums, total, counter, n);
#elif VARIANT == 3
  cudaStream_t streams[2];
  for (int s = 0; s < 2; ++s) {
    cudaStreamCreate(&streams[s]);
    square<<<8, 128, 0, streams[s]>>>(a + s * n / 2, b + s * n / 2, y + s * n / 2, n / 2);
  }
  for (cudaStream_t stream : streams)
    cudaStreamSynchronize(stream);
  sumBlocks<<<blocks, 128>>>(y, sums, n);
  addSums<<<1, 128>>>(sums, total, blocks);
#elif VARIANT == 13
  cudaStream_t halves[2];
  std::vector<float> values(n);
  cudaHostRegister(values.data(), n * sizeof(float), cudaHostRegisterDefault);
  for (int s = 0; s < 2; ++s) {
    const int at = s * n / 2;
    cudaStreamCreateWithFlags(&halves[s], cudaStreamNonBlocking);
    cudaMemcpyAsync(a + at, left.data() + at, n / 2 * sizeof(float), cudaMemcpyHostToDevice, halves[s]);
    cudaMemcpyAsync(b + at, right.data() + at, n / 2 * sizeof(float), cudaMemcpyHostToDevice, halves[s]);
    square<<<8, 128, 0, halves[s]>>>(a + at, b + at, y + at, n / 2);
    cudaMemcpyAsync(values.data() + at, y + at, n / 2 * sizeof(float), cudaMemcpyDeviceToHost, halves[s]);
  }
  cudaDeviceSynchronize();
  sumBlocks<<<blocks, 128>>>(y, sums, n);
  addSums<<<1, 128>>>(sums, total, blocks);
#elif VARIANT == 7
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  square<<<blocks, 128, 0, stream>>>(a, b, y, n);
  sumBlocks<<<blocks, 128, 0, stream>>>(y, sums, n);
  addSums<<<1, 128, 0, stream>>>(sums, total, blocks);
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
  }
#elif VARIANT == 8
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaDeviceSynchronize();
  cudaEvent_t squared;
  cudaEventCreateWithFlags(&squared, cudaEventDisableTiming);
  square<<<blocks, 128, 0, first>>>(a, b, y, n);
  cudaEventRecord(squared, first);
  cudaStreamWaitEvent(second, squared, 0);
  sumBlocks<<<blocks, 128, 0, second>>>(y, sums, n);
  addSums<<<1, 128, 0, second>>>(sums, total, blocks);
  cudaDeviceSynchronize();
#elif VARIANT == 9
  int perMultiprocessor = 1, multiprocessors = 1;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perMultiprocessor, square, 128, 0);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  square<<<perMultiprocessor * multiprocessors < blocks ? perMultiprocessor * multiprocessors : blocks, 128>>>(a, b, y, n);
  sumBlocks<<<blocks, 128>>>(y, sums, n);
  addSums<<<1, 128>>>(sums, total, blocks);
#else
  square<<<blocks, 128>>>(a, b, y, n);
  sumBlocks<<<blocks, 128>>>(y, sums, n);
  addSums<<<1, 128>>>(sums, total, blocks);
#endif
#if VARIANT != 13
  std::vector<float> values(n);
#endif
#if VARIANT == 4
  for (int piece = 0; piece < 4; ++piece)
    cudaMemcpy(values.data() + piece * n / 4, y + piece * n / 4, n / 4 * sizeof(float), cudaMemcpyDeviceToHost);
#elif VARIANT == 5
  cudaMemcpyAsync(pinned, y, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::copy(pinned, pinned + n, values.begin());
#elif VARIANT == 10
  cudaDeviceSynchronize();
  std::copy(y, y + n, values.begin());
#elif VARIANT != 13
  cudaMemcpy(values.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost);
#endif
  float sum;
  cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost);
  std::printf("%.3f %.3f\n", sum, values[n / 2]);
}
