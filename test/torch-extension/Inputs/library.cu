#include <torch/library.h>
#include <torch/types.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

template <typename T> __global__ void addKernel(T *out, const T *a, const T *b, int64_t n) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n)
    out[i] = a[i] + b[i];
}

namespace mine {
at::Tensor add(const at::Tensor &a, const at::Tensor &b) {
  TORCH_CHECK(a.sizes().size() == b.sizes().size());
  at::Tensor out = torch::empty(a.sizes(), a.options().dtype(torch::kFloat32));
  const at::cuda::OptionalCUDAGuard guard(a.device());
  cudaStream_t stream = at::cuda::getCurrentCUDAStream().stream();
  addKernel<float><<<(a.numel() + 255) / 256, 256, 0, stream>>>(out.mutable_data_ptr<float>(), a.const_data_ptr<float>(), b.const_data_ptr<float>(), a.numel());
  return out;
}
TORCH_LIBRARY(mine, m) { m.def("add(Tensor a, Tensor b) -> Tensor"); }
TORCH_LIBRARY_IMPL(mine, CUDA, m) { m.impl("add", &add); }
} // namespace mine
