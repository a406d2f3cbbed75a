// Declarations that stand for torch's where kb-opt reads an extension: enough to parse the host
// side, nothing that computes. A program that calls one of them at run time ends with a message;
// what kb-opt runs is the kernel, or an entry without tensors. Add what your file needs, or use
// torch's own headers.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace c10 {
[[noreturn]] inline void kbTorchStub(const char *name) {
  std::fprintf(stderr,
               "%s was called, which kb-opt's stub of torch only declares: name an entry without "
               "tensors in the workload\n",
               name);
  std::exit(1);
}

// Torch's own types convert to and from float; CUDA's have the same layout.
using Half = __half;
using BFloat16 = __nv_bfloat16;

enum class ScalarType : int8_t {
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  Float,
  Double,
  ComplexFloat,
  ComplexDouble,
  Bool,
  BFloat16
};
enum class DeviceType : int8_t { CPU, CUDA };
using DeviceIndex = int8_t;

struct Device {
  Device(DeviceType = DeviceType::CPU, DeviceIndex = 0) {}
  DeviceIndex index() const { return 0; }
  bool is_cuda() const { return true; }
  bool operator==(const Device &) const { return true; }
};

template <typename T> struct ArrayRef {
  ArrayRef() = default;
  ArrayRef(std::initializer_list<T>) {}
  ArrayRef(const std::vector<T> &) {}
  const T &operator[](size_t) const { kbTorchStub("ArrayRef"); }
  const T *begin() const { return nullptr; }
  const T *end() const { return nullptr; }
  size_t size() const { return 0; }
  std::vector<T> vec() const { return {}; }
};
using IntArrayRef = ArrayRef<int64_t>;

struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(ScalarType) {}
  TensorOptions dtype(ScalarType) const { return *this; }
  TensorOptions device(Device) const { return *this; }
  TensorOptions device(DeviceType, DeviceIndex = 0) const { return *this; }
  TensorOptions requires_grad(bool) const { return *this; }
};

namespace cuda {
struct CUDAStream {
  cudaStream_t stream() const { kbTorchStub("CUDAStream"); }
  operator cudaStream_t() const { return stream(); }
};
inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) { kbTorchStub("getCurrentCUDAStream"); }
struct CUDAGuard {
  explicit CUDAGuard(Device) {}
  explicit CUDAGuard(DeviceIndex) {}
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device>) {}
};
} // namespace cuda
} // namespace c10

namespace at {
using namespace c10;

class Tensor {
public:
  int64_t size(int64_t) const { kbTorchStub("Tensor::size"); }
  int64_t stride(int64_t) const { kbTorchStub("Tensor::stride"); }
  int64_t dim() const { kbTorchStub("Tensor::dim"); }
  int64_t numel() const { kbTorchStub("Tensor::numel"); }
  int64_t element_size() const { kbTorchStub("Tensor::element_size"); }
  IntArrayRef sizes() const { kbTorchStub("Tensor::sizes"); }
  IntArrayRef strides() const { kbTorchStub("Tensor::strides"); }
  bool is_cuda() const { kbTorchStub("Tensor::is_cuda"); }
  bool is_contiguous() const { kbTorchStub("Tensor::is_contiguous"); }
  bool defined() const { kbTorchStub("Tensor::defined"); }
  ScalarType scalar_type() const { kbTorchStub("Tensor::scalar_type"); }
  ScalarType dtype() const { kbTorchStub("Tensor::dtype"); }
  Device device() const { kbTorchStub("Tensor::device"); }
  DeviceIndex get_device() const { kbTorchStub("Tensor::get_device"); }
  TensorOptions options() const { kbTorchStub("Tensor::options"); }
  template <typename T> T *data_ptr() const { kbTorchStub("Tensor::data_ptr"); }
  template <typename T> const T *const_data_ptr() const { kbTorchStub("Tensor::const_data_ptr"); }
  template <typename T> T *mutable_data_ptr() const { kbTorchStub("Tensor::mutable_data_ptr"); }
  void *data_ptr() const { kbTorchStub("Tensor::data_ptr"); }
  template <typename T> T item() const { kbTorchStub("Tensor::item"); }
  Tensor contiguous() const { kbTorchStub("Tensor::contiguous"); }
  Tensor clone() const { kbTorchStub("Tensor::clone"); }
  Tensor to(ScalarType) const { kbTorchStub("Tensor::to"); }
  Tensor to(Device) const { kbTorchStub("Tensor::to"); }
  Tensor view(IntArrayRef) const { kbTorchStub("Tensor::view"); }
  Tensor reshape(IntArrayRef) const { kbTorchStub("Tensor::reshape"); }
  Tensor transpose(int64_t, int64_t) const { kbTorchStub("Tensor::transpose"); }
  Tensor sum() const { kbTorchStub("Tensor::sum"); }
  Tensor zero_() const { kbTorchStub("Tensor::zero_"); }
};

inline Tensor empty(IntArrayRef, TensorOptions = {}) { kbTorchStub("empty"); }
inline Tensor zeros(IntArrayRef, TensorOptions = {}) { kbTorchStub("zeros"); }
inline Tensor ones(IntArrayRef, TensorOptions = {}) { kbTorchStub("ones"); }
inline Tensor empty_like(const Tensor &, TensorOptions = {}) { kbTorchStub("empty_like"); }
inline Tensor zeros_like(const Tensor &, TensorOptions = {}) { kbTorchStub("zeros_like"); }

namespace cuda {
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using CUDAGuard = c10::cuda::CUDAGuard;
using OptionalCUDAGuard = c10::cuda::OptionalCUDAGuard;
inline cudaDeviceProp *getCurrentDeviceProperties() { kbTorchStub("getCurrentDeviceProperties"); }
} // namespace cuda
} // namespace at

namespace torch {
using namespace at;
using at::Tensor;
constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = ScalarType::Float,
                     kDouble = ScalarType::Double, kFloat64 = ScalarType::Double,
                     kHalf = ScalarType::Half, kFloat16 = ScalarType::Half,
                     kBFloat16 = ScalarType::BFloat16, kInt = ScalarType::Int,
                     kInt32 = ScalarType::Int, kLong = ScalarType::Long, kInt64 = ScalarType::Long,
                     kBool = ScalarType::Bool, kUInt8 = ScalarType::Byte, kInt8 = ScalarType::Char;
constexpr DeviceType kCUDA = DeviceType::CUDA, kCPU = DeviceType::CPU;
using Dtype = ScalarType;
inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(DeviceType) { return TensorOptions(); }

struct Library {
  template <typename... Any> Library &def(Any &&...) { return *this; }
  template <typename... Any> Library &impl(Any &&...) { return *this; }
};
} // namespace torch

namespace pybind11 {
struct arg {
  explicit arg(const char *) {}
  template <typename T> arg &operator=(T &&) { return *this; }
};
struct module_ {
  template <typename... Any> module_ &def(Any &&...) { return *this; }
};
} // namespace pybind11
namespace py = pybind11;

#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME kb_extension
#endif
#define PYBIND11_MODULE(name, variable)                                                            \
  [[maybe_unused]] static void kbModule_##variable(pybind11::module_ &variable)
#define TORCH_LIBRARY(space, variable)                                                             \
  [[maybe_unused]] static void kbLibrary_##space(torch::Library &variable)
#define TORCH_LIBRARY_FRAGMENT(space, variable)                                                    \
  [[maybe_unused]] static void kbFragment_##space(torch::Library &variable)
#define TORCH_LIBRARY_IMPL(space, key, variable)                                                   \
  [[maybe_unused]] static void kbImplementation_##space##key(torch::Library &variable)

template <typename... Any> inline void kbTorchIgnore(Any &&...) {}
#define TORCH_CHECK(condition, ...)                                                                \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      kbTorchIgnore(__VA_ARGS__);                                                                  \
      c10::kbTorchStub("TORCH_CHECK");                                                             \
    }                                                                                              \
  } while (false)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition)
#define AT_CUDA_CHECK(call) static_cast<void>(call)
#define C10_CUDA_CHECK(call) static_cast<void>(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() static_cast<void>(cudaGetLastError())
#define KB_TORCH_CASE(name, type, ...)                                                             \
  case c10::ScalarType::name: {                                                                    \
    using scalar_t [[maybe_unused]] = type;                                                        \
    __VA_ARGS__();                                                                                 \
    break;                                                                                         \
  }
#define AT_DISPATCH_FLOATING_TYPES(kind, name, ...)                                                \
  switch (kind) {                                                                                  \
    KB_TORCH_CASE(Float, float, __VA_ARGS__)                                                       \
    KB_TORCH_CASE(Double, double, __VA_ARGS__)                                                     \
  default:                                                                                         \
    c10::kbTorchStub(name);                                                                        \
  }
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(kind, name, ...)                                       \
  switch (kind) {                                                                                  \
    KB_TORCH_CASE(Float, float, __VA_ARGS__)                                                       \
    KB_TORCH_CASE(Double, double, __VA_ARGS__)                                                     \
    KB_TORCH_CASE(Half, __half, __VA_ARGS__)                                                       \
  default:                                                                                         \
    c10::kbTorchStub(name);                                                                        \
  }
