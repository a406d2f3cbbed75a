//===- FakeDriver.cpp - A CUDA driver without a GPU -------------------------===//
//
// Owns a libcuda.so.1 for the recorder's tests. Device memory is memory of this
// process, at the addresses that were asked for; fresh memory is full of 0xEE.
// The kernels of Programs.cpp are functions here and run when they are launched.
//
//===----------------------------------------------------------------------===//
#include <cuda.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <sys/mman.h>

namespace {

constexpr size_t granule = 2 << 20, memoryBytes = size_t(8) << 30;
CUresult pending = CUDA_SUCCESS; ///< what the next wait says
size_t mappedBytes = 0;
int table[4] = {1, 2, 3, 4};

template <typename T> T argument(void **args, int i) { return *static_cast<T *>(args[i]); }
char *pointer(CUdeviceptr p) { return reinterpret_cast<char *>(p); }

struct Shape {
  unsigned blocks, threads, batch;
};
using Kernel = void (*)(Shape shape, void **args);

void scale(Shape shape, void **args) {
  for (unsigned i = 0; i < shape.blocks * shape.threads && i < argument<unsigned>(args, 1); ++i)
    argument<float *>(args, 0)[i] *= argument<float>(args, 2);
}
void lookUp(Shape shape, void **args) {
  for (unsigned i = 0; i < shape.blocks * shape.threads && i < argument<unsigned>(args, 1); ++i)
    argument<int *>(args, 0)[i] = table[i % 4];
}
void follow(Shape, void **args) { **argument<float **>(args, 0) += 1; }
void trap(Shape, void **) { pending = CUDA_ERROR_LAUNCH_FAILED; }

/// runtime/cuda/Matmul.cpp's kernel.
void multiply(Shape shape, void **args) {
  uint64_t as = argument<uint64_t>(args, 3), bs = argument<uint64_t>(args, 4),
           cs = argument<uint64_t>(args, 5);
  auto at = [&](int i) { return uint64_t{argument<unsigned>(args, i)}; };
  for (uint64_t z = 0; z < shape.batch; ++z)
    for (uint64_t i = 0; i < at(11); ++i)
      for (uint64_t j = 0; j < at(12); ++j) {
        float sum = 0;
        for (uint64_t l = 0; l < at(13); ++l)
          sum += argument<float *>(args, 0)[z * as + i * at(6) + l * at(7)] *
                 argument<float *>(args, 1)[z * bs + l * at(8) + j * at(9)];
        float &c = argument<float *>(args, 2)[z * cs + i + j * at(10)];
        float beta = argument<float>(args, 15);
        c = argument<float>(args, 14) * sum + (beta == 0 ? 0 : beta * c);
      }
}

const std::map<std::string, Kernel> kernels = {{"_Z5scalePfif", scale},
                                               {"lookUp", lookUp},
                                               {"_Z6followPPf", follow},
                                               {"_Z4trapPf", trap},
                                               {"kb_matmul", multiply}};

void moveRows(char *to, size_t toPitch, const char *from, size_t fromPitch, size_t width,
              size_t height) {
  for (size_t y = 0; y < height; ++y)
    std::memmove(to + y * toPitch, from + y * fromPitch, width);
}

} // namespace

extern "C" {

CUresult cuInit(unsigned) {
  return std::getenv("KB_FAKE_NO_DEVICE") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int *count) { return *count = 1, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int) { return *device = 0, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char *name, int bytes, CUdevice) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char *id, int, CUdevice) { return *id = 0, CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice) {
  switch (which) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return *value = 9, CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return *value = 0, CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return *value = 7, CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    return *value = 1, CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  return *context = reinterpret_cast<CUcontext>(granule), CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuStreamCreate(CUstream *stream, unsigned) {
  return *stream = reinterpret_cast<CUstream>(granule), CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream) { return pending; }
CUresult cuStreamSynchronize(CUstream) { return pending; }
CUresult cuMemGetInfo(size_t *free, size_t *total) {
  *free = memoryBytes - mappedBytes;
  *total = memoryBytes;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, const char **name) {
  *name = code == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
          : code == CUDA_ERROR_NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
                                           : nullptr;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char **text) { return *text = nullptr, CUDA_SUCCESS; }

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *,
                                       CUmemAllocationGranularity_flags) {
  return *bytes = granule, CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr *place, size_t bytes, size_t, CUdeviceptr wanted,
                             unsigned long long) {
  void *got =
      mmap(pointer(wanted), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *place = reinterpret_cast<CUdeviceptr>(got);
  return got == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *, unsigned long long) {
  if (bytes % granule)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes > memoryBytes - mappedBytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  return *handle = 1, CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle) { return CUDA_SUCCESS; }
CUresult cuMemMap(CUdeviceptr place, size_t bytes, size_t, CUmemGenericAllocationHandle,
                  unsigned long long) {
  mappedBytes += bytes;
  return place % granule ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr place, size_t bytes, const CUmemAccessDesc *, size_t) {
  if (mprotect(pointer(place), bytes, PROT_READ | PROT_WRITE) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::memset(pointer(place), 0xEE, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr place, size_t bytes) {
  mappedBytes -= bytes;
  madvise(pointer(place), bytes, MADV_DONTNEED);
  return mprotect(pointer(place), bytes, PROT_NONE) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void *, size_t, unsigned) { return CUDA_SUCCESS; }
CUresult cuMemHostUnregister(void *) { return CUDA_SUCCESS; }

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream) {
  return std::memmove(pointer(to), from, bytes), pending;
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream) {
  return std::memmove(to, pointer(from), bytes), pending;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  return std::memmove(pointer(to), pointer(from), bytes), pending;
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *rows, CUstream) {
  bool toHost = rows->dstMemoryType == CU_MEMORYTYPE_HOST,
       fromHost = rows->srcMemoryType == CU_MEMORYTYPE_HOST;
  moveRows(toHost ? static_cast<char *>(rows->dstHost) : pointer(rows->dstDevice), rows->dstPitch,
           fromHost ? static_cast<const char *>(rows->srcHost) : pointer(rows->srcDevice),
           rows->srcPitch, rows->WidthInBytes, rows->Height);
  return pending;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream) {
  return std::memset(pointer(to), value, bytes), pending;
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream) {
  for (size_t y = 0; y < height; ++y)
    std::memset(pointer(to + y * pitch), value, width);
  return pending;
}

CUresult cuModuleLoadData(CUmodule *module, const void *) {
  return *module = reinterpret_cast<CUmodule>(granule), CUDA_SUCCESS;
}
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned, CUjit_option *,
                            void **) {
  return cuModuleLoadData(module, image);
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule, const char *name) {
  auto found = kernels.find(name);
  if (found == kernels.end())
    return CUDA_ERROR_NOT_FOUND;
  return *function = reinterpret_cast<CUfunction>(found->second), CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr *place, size_t *bytes, CUmodule, const char *name) {
  if (std::string(name) != "table")
    return CUDA_ERROR_NOT_FOUND;
  *place = reinterpret_cast<CUdeviceptr>(table);
  *bytes = sizeof table;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction) {
  *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
           : which == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 24
                                                            : 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned, unsigned gridZ,
                        unsigned blockX, unsigned, unsigned, unsigned, CUstream, void **arguments,
                        void **) {
  reinterpret_cast<Kernel>(function)({gridX, blockX, gridZ}, arguments);
  return CUDA_SUCCESS;
}
}
