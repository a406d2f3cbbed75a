#include <cuda_fp16.h>

// A helper that is no entry, though its name is like one.
void launch_gpu_implementation_of_parts(void *, const void *) {}

__global__ void linearRelu(const __half *x, const __half *weight, const __half *bias, __half *y, int batch, int inputs, int outputs) {
  int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= batch || column >= outputs)
    return;
  float sum = __half2float(bias[column]);
  for (int k = 0; k < inputs; ++k)
    sum += __half2float(x[row * inputs + k]) * __half2float(weight[column * inputs + k]);
  y[row * outputs + column] = __float2half(fmaxf(sum, 0.0f));
}

void launch_gpu_implementation(void *output, const void *input, const void *weight, const void *bias, const std::vector<int64_t> &shape, int outputs) {
  int batch = static_cast<int>(shape[0]), inputs = static_cast<int>(shape[1]);
  dim3 grid((outputs + 63) / 64, batch);
  linearRelu<<<grid, 64>>>(static_cast<const __half *>(input), static_cast<const __half *>(weight), static_cast<const __half *>(bias),
                           static_cast<__half *>(output), batch, inputs, outputs);
  cudaDeviceSynchronize();
}
