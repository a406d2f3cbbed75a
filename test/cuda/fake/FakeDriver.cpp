//===- FakeDriver.cpp - a CUDA driver without a device --------------------===//
//
// A libcuda.so.1 for tests, found by LD_LIBRARY_PATH: device memory is the
// host's, the kernels of test/cuda/Inputs/kernels.cu are functions of the host
// (Kernels.h), time is counted, and any call fails when asked to. Memory that is
// shared is a file without a name that each process maps with its own rights: a write
// to a mapping that is read only, or between mappings, ends the process. What it says
// of itself comes from the environment variable KB_FAKE_CUDA, words with commas:
//
//   NAME=CODE      function NAME (cuInit) answers CODE
//   NAME@N=CODE    its N-th call does
//   NAME@N=CODE!   and from then on every call of every function, as after a lost device
//   devices=N, arch=90, memory=BYTES
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

struct Rule {
  unsigned long call = 0; ///< 0: every one
  int code = 0;
  bool isForEver = false;
};

struct Settings {
  std::map<std::string, Rule> rules;
  std::map<std::string, unsigned long> numbers = {
      {"devices", 1}, {"arch", 90}, {"memory", 1 << 30}};

  Settings() {
    std::string text = std::getenv("KB_FAKE_CUDA") ? std::getenv("KB_FAKE_CUDA") : "";
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.find(',', at), text.size());
      std::string word = text.substr(at, end - at);
      at = end + 1;
      size_t equals = word.find('=');
      std::string name = word.substr(0, equals), value = word.substr(equals + 1);
      if (name.compare(0, 2, "cu") != 0) {
        numbers[name] = std::strtoul(value.c_str(), nullptr, 10);
        continue;
      }
      Rule rule;
      size_t which = name.find('@');
      if (which != std::string::npos)
        rule.call = std::strtoul(name.c_str() + which + 1, nullptr, 10);
      rule.code = std::atoi(value.c_str());
      rule.isForEver = value.back() == '!';
      rules[name.substr(0, which)] = rule;
    }
  }
};

Settings &settings() {
  static Settings instance;
  return instance;
}

int lostWith = 0;        ///< the error of a context that is of no use any more
bool isBusy = false;     ///< a kernel runs that does not end
double microseconds = 0; ///< of the device, so far
unsigned long usedBytes = 0;
std::map<CUdeviceptr, size_t> allocations;

struct SharedMemory {
  size_t bytes = 0; ///< that this process made
  bool isShareable = false;
};
std::map<int, SharedMemory> shared; ///< by file descriptor, which is its handle

/// What the call of \p function answers; the suffixes that cuda.h's macros add do not count.
CUresult answer(const std::string &function) {
  static std::map<std::string, unsigned long> calls;
  std::string name = function.substr(0, function.rfind("_v"));
  unsigned long call = ++calls[name];
  auto entry = settings().rules.find(name);
  if (!lostWith && entry != settings().rules.end() &&
      (entry->second.call == 0 || entry->second.call == call)) {
    if (entry->second.isForEver)
      lostWith = entry->second.code;
    return static_cast<CUresult>(entry->second.code);
  }
  return static_cast<CUresult>(lostWith);
}

#define ANSWER()                                                                                   \
  if (CUresult code = answer(__func__); code != CUDA_SUCCESS)                                      \
  return code

char *pointer(CUdeviceptr address) { return reinterpret_cast<char *>(address); }

/// The text behind the header of a made-up cubin names its kernels.
struct Module {
  std::string names;
};

} // namespace

struct CUfunc_st {
  const fake::Kernel *kernel;
};
struct CUevent_st {
  double microseconds = 0;
};

extern "C" {

CUresult cuInit(unsigned) { return answer(__func__); }
CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return answer(__func__);
}
CUresult cuDeviceGetCount(int *count) {
  *count = static_cast<int>(settings().numbers["devices"]);
  return answer(__func__);
}
CUresult cuDeviceGet(CUdevice *device, int index) {
  *device = index;
  return answer(__func__);
}
CUresult cuDeviceGetName(char *name, int bytes, CUdevice) {
  std::snprintf(name, static_cast<size_t>(bytes), "Fake device");
  return answer(__func__);
}
CUresult cuDeviceGetPCIBusId(char *name, int bytes, CUdevice) {
  std::snprintf(name, static_cast<size_t>(bytes), "0000:00:00.0");
  return answer(__func__);
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice) {
  int arch = static_cast<int>(settings().numbers["arch"]);
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR                      ? arch / 10
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR                    ? arch % 10
           : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT                        ? 4
           : which == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE                               ? 1 << 16
           : which == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED ? 1
           : which == CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM     ? 1
                                                                                      : 0;
  return answer(__func__);
}
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
  *bytes = settings().numbers["memory"];
  return answer(__func__);
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  const char *queues = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  if (!queues || std::strcmp(queues, "1") != 0) {
    std::fprintf(stderr, "a context with more than one queue is slow to open\n");
    return CUDA_ERROR_INVALID_VALUE;
  }
  *context = reinterpret_cast<CUcontext>(8);
  return answer(__func__);
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return answer(__func__); }
CUresult cuCtxSetCurrent(CUcontext) { return answer(__func__); }
CUresult cuCtxSynchronize() { return answer(__func__); }
CUresult cuCtxResetPersistingL2Cache() { return answer(__func__); }

CUresult cuGetErrorName(CUresult code, const char **name) {
  static std::string text;
  text = "CUDA_ERROR_" + std::to_string(code);
  *name = text.c_str();
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "made up";
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  *total = settings().numbers["memory"];
  *free = *total - usedBytes;
  return answer(__func__);
}
CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  ANSWER();
  if (usedBytes + bytes > settings().numbers["memory"])
    return CUDA_ERROR_OUT_OF_MEMORY;
  void *memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  allocations[*address] = bytes;
  usedBytes += bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  ANSWER();
  usedBytes -= allocations[address];
  allocations.erase(address);
  std::free(pointer(address));
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  *memory = std::calloc(bytes, 1);
  return answer(__func__);
}
CUresult cuMemHostRegister(void *, size_t, unsigned) { return answer(__func__); }
CUresult cuMemHostUnregister(void *) { return answer(__func__); }
CUresult cuMemFreeHost(void *memory) {
  std::free(memory);
  return answer(__func__);
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr *address, void *memory, unsigned) {
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return answer(__func__);
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *,
                                       CUmemAllocationGranularity_flags) {
  *granularity = 2 << 20;
  return answer(__func__);
}
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *properties, unsigned long long) {
  ANSWER();
  if (usedBytes + bytes > settings().numbers["memory"])
    return CUDA_ERROR_OUT_OF_MEMORY;
  const bool isShareable =
      properties->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  int file = memfd_create(isShareable ? "fake-shareable" : "fake-private", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  usedBytes += bytes;
  shared[file] = {bytes, isShareable};
  *handle = static_cast<CUmemGenericAllocationHandle>(file);
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  ANSWER();
  int file = static_cast<int>(handle);
  usedBytes -= shared[file].bytes;
  shared.erase(file);
  close(file);
  return CUDA_SUCCESS;
}
CUresult cuMemExportToShareableHandle(void *into, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType, unsigned long long) {
  ANSWER();
  if (!shared[static_cast<int>(handle)].isShareable)
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int *>(into) = dup(static_cast<int>(handle));
  return CUDA_SUCCESS;
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *from,
                                        CUmemAllocationHandleType) {
  ANSWER();
  int file = fcntl(static_cast<int>(reinterpret_cast<uintptr_t>(from)), F_DUPFD_CLOEXEC, 0);
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  shared[file] = {0, true}; // another process pays for it
  *handle = static_cast<CUmemGenericAllocationHandle>(file);
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t, CUdeviceptr wanted,
                             unsigned long long) {
  ANSWER();
  if (wanted && mmap(pointer(wanted), bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                     0) == pointer(wanted)) {
    *address = wanted;
    return CUDA_SUCCESS;
  }
  const size_t whole = bytes + (2 << 20);
  void *place = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  const auto start = reinterpret_cast<CUdeviceptr>(place), end = start + whole;
  *address = (start + (2 << 20) - 1) / (2 << 20) * (2 << 20);
  if (*address > start)
    munmap(place, *address - start);
  munmap(pointer(*address + bytes), end - *address - bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  munmap(pointer(address), bytes);
  return answer(__func__);
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  ANSWER();
  void *place =
      mmap(pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, static_cast<int>(handle), 0);
  return place == MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  mmap(pointer(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
       -1, 0);
  return answer(__func__);
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access, size_t) {
  ANSWER();
  const bool isWritable = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return mprotect(pointer(address), bytes, isWritable ? PROT_READ | PROT_WRITE : PROT_READ) == 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
  ANSWER();
  std::memcpy(pointer(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
  ANSWER();
  std::memcpy(to, pointer(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream) {
  ANSWER();
  std::memcpy(pointer(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream) {
  ANSWER();
  std::memcpy(to, pointer(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  ANSWER();
  std::memmove(pointer(to), pointer(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *move, CUstream) {
  ANSWER();
  auto *to = static_cast<char *>(
      move->dstMemoryType == CU_MEMORYTYPE_HOST ? move->dstHost : pointer(move->dstDevice));
  auto *from = static_cast<const char *>(
      move->srcMemoryType == CU_MEMORYTYPE_HOST ? move->srcHost : pointer(move->srcDevice));
  for (size_t row = 0; row < move->Height; ++row)
    std::memcpy(to + row * move->dstPitch, from + row * move->srcPitch, move->WidthInBytes);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream) {
  ANSWER();
  std::memset(pointer(to), value, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream) {
  ANSWER();
  for (size_t row = 0; row < height; ++row)
    std::memset(pointer(to) + row * pitch, value, width);
  return CUDA_SUCCESS;
}

/// Where the tables of an ELF file end; 0 for one that is nothing but its header.
static size_t elfBytes(const char *header) {
  auto read = [&]<typename T>(size_t at, T value) {
    std::memcpy(&value, header + at, sizeof value);
    return static_cast<size_t>(value);
  };
  const size_t segments = read(32, uint64_t()) + read(54, uint16_t()) * read(56, uint16_t());
  const size_t sections = read(40, uint64_t()) + read(58, uint16_t()) * read(60, uint16_t());
  return std::max(segments, sections);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned, CUjit_option *,
                            void **) {
  ANSWER();
  auto *text = static_cast<const char *>(image);
  const bool isCubin = std::memcmp(text, "\177ELF", 4) == 0;
  const size_t bytes = isCubin ? elfBytes(text) : 0;
  *module = reinterpret_cast<CUmodule>(
      new Module{bytes ? std::string(text, bytes) : std::string(text + (isCubin ? 64 : 0))});
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
CUresult cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<Module *>(module);
  return answer(__func__);
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  ANSWER();
  const fake::Kernel *kernel = fake::findKernel(name);
  if (!kernel || reinterpret_cast<Module *>(module)->names.find(name) == std::string::npos)
    return CUDA_ERROR_NOT_FOUND;
  *function = new CUfunc_st{kernel};
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr *, size_t *, CUmodule, const char *) {
  ANSWER();
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction) {
  *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 16;
  return answer(__func__);
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return answer(__func__); }
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction, int, size_t) {
  *blocks = 8;
  return answer(__func__);
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned, unsigned, unsigned blockX,
                        unsigned, unsigned, unsigned, CUstream, void **arguments, void **) {
  ANSWER();
  microseconds += function->kernel->microseconds;
  switch (function->kernel->run(fake::Launch{gridX, blockX, arguments})) {
  case fake::Ending::Done:
    break;
  case fake::Ending::Illegal:
    lostWith = CUDA_ERROR_ILLEGAL_ADDRESS;
    break;
  case fake::Ending::Trap:
    lostWith = CUDA_ERROR_LAUNCH_FAILED;
    break;
  case fake::Ending::Assert:
    lostWith = CUDA_ERROR_ASSERT;
    break;
  case fake::Ending::Endless:
    isBusy = true;
  }
  return CUDA_SUCCESS; // like a device's, a kernel's errors show at the next wait
}

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(16);
  return answer(__func__);
}
CUresult cuStreamDestroy(CUstream) { return answer(__func__); }
CUresult cuStreamQuery(CUstream) {
  ANSWER();
  return isBusy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) { return answer(__func__); }
CUresult cuStreamBeginCapture(CUstream, CUstreamCaptureMode) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuStreamEndCapture(CUstream, CUgraph *) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuGraphInstantiate(CUgraphExec *, CUgraph, unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuGraphLaunch(CUgraphExec, CUstream) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuGraphExecDestroy(CUgraphExec) { return CUDA_SUCCESS; }
CUresult cuGraphDestroy(CUgraph) { return CUDA_SUCCESS; }

CUresult cuEventCreate(CUevent *event, unsigned) {
  ANSWER();
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  delete event;
  return answer(__func__);
}
CUresult cuEventRecord(CUevent event, CUstream) {
  event->microseconds = microseconds;
  return answer(__func__);
}
CUresult cuEventQuery(CUevent) { return answer(__func__); }
CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  *milliseconds = static_cast<float>((end->microseconds - begin->microseconds) / 1e3);
  return answer(__func__);
}

} // extern "C"
