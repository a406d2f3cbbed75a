//===- FileWords.cpp - The words that FileRules forbids --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FileWords.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

/// A star stands for any end.
bool isAnyOf(StringRef name, llvm::ArrayRef<StringRef> patterns) {
  return llvm::any_of(patterns, [&](StringRef pattern) {
    return pattern.consume_back("*") ? name.starts_with(pattern) : name == pattern;
  });
}

constexpr StringRef compilerNames[] = {"__clang*",
                                       "__llvm__",
                                       "__NVCC*",
                                       "__CUDACC*",
                                       "__CUDA_ARCH*",
                                       "__CUDA__",
                                       "__CUDABE__",
                                       "__CUDA_LIB*",
                                       "__CUDA_FTZ",
                                       "__CUDA_PREC*",
                                       "__CUDART*",
                                       "CUDART_VERSION",
                                       "CUDA_VERSION",
                                       "__GNU*",
                                       "__EDG*",
                                       "__VERSION__",
                                       "__OPTIMIZE*",
                                       "__NO_INLINE__",
                                       "__FAST_MATH__",
                                       "__DATE__",
                                       "__TIME__",
                                       "__TIMESTAMP__",
                                       "__COUNTER__",
                                       "__BASE_FILE__",
                                       "__FILE_NAME__",
                                       "__INCLUDE_LEVEL__",
                                       "__PRETTY_FUNCTION__",
                                       "linux",
                                       "unix",
                                       "_Pragma",
                                       "__pragma",
                                       "__has_*",
                                       "__is_identifier",
                                       "__building_module",
                                       "NDEBUG",
                                       "_MSC_*",
                                       "__SANITIZE_*",
                                       "__INTELLISENSE__",
                                       "NV_IF_*",
                                       "NV_IS_*",
                                       "NV_PROVIDES_*",
                                       "NV_DISPATCH*",
                                       "__nvvm_*",
                                       "__builtin_constant_p",
                                       "__builtin_is_constant_evaluated",
                                       "is_constant_evaluated",
                                       "__CLANG*",
                                       "__NV_*",
                                       "__cpp_*",
                                       "__STDC*"};

/// The CUDA C++ Programming Guide's words that headers define, the places of a text, by which
/// programs report errors, and the limits of types.
constexpr StringRef languageMacros[] = {
    "__global__",        "__device__",       "__host__",          "__shared__",
    "__constant__",      "__managed__",      "__grid_constant__", "__launch_bounds__",
    "__maxnreg__",       "__cluster_dims__", "__block_size__",    "__align__",
    "__builtin_align__", "__forceinline__",  "__noinline__",      "__inline_hint__",
    "__restrict__",      "__syncthreads*",   "__syncwarp",        "__shfl_*",
    "__FILE__",          "__LINE__",         "__CHAR_BIT__",      "__SCHAR_MAX__",
    "__SHRT_MAX__",      "__INT_MAX__",      "__LONG_MAX__",      "__LONG_LONG_MAX__",
    "__SIZE_MAX__",      "__FLT_MAX__",      "__FLT_MIN__",       "__FLT_EPSILON__",
    "__DBL_MAX__",       "__DBL_MIN__",      "__DBL_EPSILON__"};

/// Of namespace std: everything but these.
constexpr StringRef deniedStd[] = {"getenv",
                                   "secure_getenv",
                                   "system",
                                   "fopen",
                                   "freopen",
                                   "tmpfile",
                                   "tmpnam",
                                   "remove",
                                   "rename",
                                   "fread",
                                   "fgets",
                                   "fscanf",
                                   "time",
                                   "clock",
                                   "ctime",
                                   "localtime",
                                   "gmtime",
                                   "strftime",
                                   "quick_exit",
                                   "_Exit",
                                   "atexit",
                                   "at_quick_exit",
                                   "signal",
                                   "raise",
                                   "set_new_handler",
                                   "set_terminate",
                                   "thread",
                                   "jthread",
                                   "async",
                                   "this_thread",
                                   "basic_ifstream",
                                   "basic_ofstream",
                                   "basic_fstream",
                                   "basic_filebuf",
                                   "basic_istream",
                                   "random_device",
                                   "now",
                                   "timespec_get",
                                   "path",
                                   "directory_iterator",
                                   "recursive_directory_iterator",
                                   "filesystem*",
                                   "current_path",
                                   "hardware_concurrency"};

/// Of the C library, besides what math.h and string.h declare.
constexpr StringRef allowedC[] = {"printf",         "fprintf",       "snprintf",
                                  "sprintf",        "puts",          "fputs",
                                  "putchar",        "fputc",         "fflush",
                                  "perror",         "malloc",        "calloc",
                                  "realloc",        "free",          "aligned_alloc",
                                  "posix_memalign", "memalign",      "abs",
                                  "labs",           "llabs",         "div",
                                  "qsort",          "bsearch",       "rand",
                                  "srand",          "rand_r",        "drand48",
                                  "srand48",        "random",        "srandom",
                                  "exit",           "abort",         "ato*",
                                  "strto*",         "__assert*",     "assert",
                                  "isdigit",        "isspace",       "isalpha",
                                  "toupper",        "tolower",       "__errno_location",
                                  "__printf_chk",   "__fprintf_chk", "mem*",
                                  "str*",           "__mem*"};

constexpr StringRef allowedCuda[] = {"__cudaPushCallConfiguration",
                                     "__cudaPopCallConfiguration",
                                     "cudaConfigureCall",
                                     "cudaMalloc*",
                                     "cudaFree*",
                                     "cudaMemcpy*",
                                     "cudaMemset*",
                                     "cudaMemPrefetch*",
                                     "cudaMemAdvise*",
                                     "cudaHostAlloc",
                                     "cudaHostRegister",
                                     "cudaHostUnregister",
                                     "cudaHostGetDevicePointer",
                                     "cudaStream*",
                                     "cudaEventCreate*",
                                     "cudaEventRecord*",
                                     "cudaEventSynchronize",
                                     "cudaEventQuery",
                                     "cudaEventDestroy",
                                     "cudaDeviceSynchronize",
                                     "cudaThreadSynchronize",
                                     "cudaGetLastError",
                                     "cudaPeekAtLastError",
                                     "cudaGetErrorString",
                                     "cudaGetErrorName",
                                     "cudaFuncSet*",
                                     "cudaFuncGetAttributes",
                                     "cudaOccupancy*",
                                     "cudaGetSymbol*",
                                     "cudaLaunch*",
                                     "cudaGraph*",
                                     "cudaDeviceGetAttribute",
                                     "cudaGetDevice",
                                     "cudaSetDevice",
                                     "cudaGetDeviceCount",
                                     "cudaGetDeviceProperties*",
                                     "cudaMemPool*",
                                     "cudaDeviceGetDefaultMemPool",
                                     "cudaDeviceGetMemPool",
                                     "cudaDeviceSet*",
                                     "cudaDeviceReset",
                                     "cudaCtxResetPersistingL2Cache",
                                     "cudaCreate*",
                                     "cudaDestroy*",
                                     "cudaBindTexture*",
                                     "cudaArray*",
                                     "make_cuda*",
                                     "cuTensorMapEncode*",
                                     "CUtensorMap_st",
                                     "cudaGetDriverEntryPoint*",
                                     "cublas*",
                                     "cudaExtent*",
                                     "cudaDeviceCanAccessPeer"};

} // namespace

bool kbopt::tellsCompiler(StringRef word) { return isAnyOf(word, compilerNames); }

bool kbopt::isOfLanguage(StringRef word) { return isAnyOf(word, languageMacros); }

bool kbopt::fileMayUse(StringRef name, HostOrigin origin) {
  switch (origin) {
  case HostOrigin::Std:
    return !isAnyOf(name, deniedStd);
  case HostOrigin::CLibrary:
    return isAnyOf(name, allowedC);
  case HostOrigin::Cuda:
    return isAnyOf(name, allowedCuda);
  }
  llvm_unreachable("all origins are handled");
}
