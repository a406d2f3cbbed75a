// A PyTorch extension: every row is divided by its root mean square and multiplied by a weight for each column.
// setup.py builds it. kb-opt runs the function launchRowScaleFloat as the workload says, without torch or Python.
//
// kb-workload:
//   entry: launchRowScaleFloat
//   sizes: {rows: 4096, columns: 768}
//   test-sizes: [{rows: 1, columns: 33}, {rows: 130, columns: 64}]
//   unseen-sizes: [{rows: 37, columns: 97}]
//   parameters:
//     - {name: out, type: f32, shape: rows*columns, role: out}
//     - {name: x, type: f32, shape: rows*columns, role: in, init: normal}
//     - {name: weight, type: f32, shape: columns, role: in, init: "uniform(0.5, 1.5)"}
//     - {name: epsilon, type: f32, value: 1e-6}
//     - {name: rows, value: rows}
//     - {name: columns, value: columns}
//     - {name: stream, cxx: nullptr}
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

__global__ void rowScaleKernel(float *out, const float *x, const float *weight, float epsilon, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float squares = 0.0f;
  for (int j = 0; j < columns; ++j)
    squares += x[row * columns + j] * x[row * columns + j];
  float scale = 1.0f / sqrtf(squares / columns + epsilon);
  for (int j = 0; j < columns; ++j)
    out[row * columns + j] = x[row * columns + j] * scale * weight[j];
}

extern "C" void launchRowScaleFloat(float *out, const float *x, const float *weight, float epsilon, int rows, int columns, cudaStream_t stream) {
  rowScaleKernel<<<(rows + 127) / 128, 128, 0, stream>>>(out, x, weight, epsilon, rows, columns);
}

// A kernel for all types, launched in a dispatch macro: kb-opt writes a version for each type that the macro chooses.
template <typename scalar_t> __global__ void clampKernel(scalar_t *x, float low, float high, int64_t count) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < count)
    x[i] = static_cast<scalar_t>(fminf(fmaxf(static_cast<float>(x[i]), low), high));
}

torch::Tensor rowScale(torch::Tensor x, torch::Tensor weight, double epsilon) {
  TORCH_CHECK(x.is_cuda() && x.dim() == 2 && x.is_contiguous() && x.scalar_type() == torch::kFloat, "x must be a contiguous float matrix on a GPU");
  TORCH_CHECK(weight.numel() == x.size(1), "weight must have a number for each of the ", x.size(1), " columns of x");
  const c10::cuda::CUDAGuard guard(x.device());
  auto out = torch::empty_like(x);
  launchRowScaleFloat(out.data_ptr<float>(), x.data_ptr<float>(), weight.data_ptr<float>(), static_cast<float>(epsilon), static_cast<int>(x.size(0)),
                      static_cast<int>(x.size(1)), at::cuda::getCurrentCUDAStream());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

void clampInPlace(torch::Tensor x, double low, double high) {
  const c10::cuda::CUDAGuard guard(x.device());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clampInPlace", [&] {
    clampKernel<scalar_t><<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<scalar_t>(), static_cast<float>(low),
                                                                                                static_cast<float>(high), x.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("row_scale", &rowScale, "rows divided by their root mean square, times a weight", py::arg("x"), py::arg("weight"), py::arg("epsilon") = 1e-6);
  m.def("clamp_", &clampInPlace, "clamps in place");
}
