//===- CompatHeader.cpp - What nvcc declares and clang does not -----------===//
#include "CompatHeader.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace kbopt;

// Sources: CUDA C++ Programming Guide, "Load Functions Using Cache Hints" and
// "Store Functions Using Cache Hints"; CUDA Math API, "Integer Intrinsics" for
// the host's min and max. A cache hint changes no value, so plain accesses
// stand for them: analysis and the CPU device see the access itself.
static constexpr llvm::StringLiteral text = R"(#pragma once
#pragma clang system_header
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KB_OPT_LOAD_(name, type)                                              \
  static inline __attribute__((device, always_inline)) type name(const type *pointer) {     \
    return *pointer;                                                          \
  }
#define KB_OPT_STORE_(name, type)                                             \
  static inline __attribute__((device, always_inline)) void name(type *pointer, type value) { \
    *pointer = value;                                                         \
  }
#define KB_OPT_HINTS_(type)                                                   \
  KB_OPT_LOAD_(__ldca, type)                                                  \
  KB_OPT_LOAD_(__ldlu, type)                                                  \
  KB_OPT_STORE_(__stwb, type)                                                 \
  KB_OPT_STORE_(__stcg, type)                                                 \
  KB_OPT_STORE_(__stcs, type)
KB_OPT_HINTS_(char)
KB_OPT_HINTS_(signed char)
KB_OPT_HINTS_(unsigned char)
KB_OPT_HINTS_(short)
KB_OPT_HINTS_(unsigned short)
KB_OPT_HINTS_(int)
KB_OPT_HINTS_(unsigned int)
KB_OPT_HINTS_(long)
KB_OPT_HINTS_(unsigned long)
KB_OPT_HINTS_(long long)
KB_OPT_HINTS_(unsigned long long)
KB_OPT_HINTS_(float)
KB_OPT_HINTS_(double)
KB_OPT_HINTS_(char2)
KB_OPT_HINTS_(char4)
KB_OPT_HINTS_(uchar2)
KB_OPT_HINTS_(uchar4)
KB_OPT_HINTS_(short2)
KB_OPT_HINTS_(short4)
KB_OPT_HINTS_(ushort2)
KB_OPT_HINTS_(ushort4)
KB_OPT_HINTS_(int2)
KB_OPT_HINTS_(int4)
KB_OPT_HINTS_(uint2)
KB_OPT_HINTS_(uint4)
KB_OPT_HINTS_(longlong2)
KB_OPT_HINTS_(ulonglong2)
KB_OPT_HINTS_(float2)
KB_OPT_HINTS_(float4)
KB_OPT_HINTS_(double2)
#undef KB_OPT_HINTS_
#undef KB_OPT_STORE_
#undef KB_OPT_LOAD_

#define KB_OPT_MINMAX_(result, left, right)                                   \
  static inline __attribute__((host)) result max(left a, right b) {           \
    return (result)a > (result)b ? (result)a : (result)b;                     \
  }                                                                           \
  static inline __attribute__((host)) result min(left a, right b) {           \
    return (result)a < (result)b ? (result)a : (result)b;                     \
  }
KB_OPT_MINMAX_(int, int, int)
KB_OPT_MINMAX_(unsigned int, unsigned int, unsigned int)
KB_OPT_MINMAX_(unsigned int, int, unsigned int)
KB_OPT_MINMAX_(unsigned int, unsigned int, int)
KB_OPT_MINMAX_(long, long, long)
KB_OPT_MINMAX_(unsigned long, unsigned long, unsigned long)
KB_OPT_MINMAX_(unsigned long, long, unsigned long)
KB_OPT_MINMAX_(unsigned long, unsigned long, long)
KB_OPT_MINMAX_(long long, long long, long long)
KB_OPT_MINMAX_(unsigned long long, unsigned long long, unsigned long long)
KB_OPT_MINMAX_(unsigned long long, long long, unsigned long long)
KB_OPT_MINMAX_(unsigned long long, unsigned long long, long long)
#undef KB_OPT_MINMAX_

// On floating point the functions are fmin and fmax: a NaN loses.
#define KB_OPT_FMINMAX_(result, left, right, suffix)                          \
  static inline __attribute__((host)) result max(left a, right b) {           \
    return __builtin_fmax##suffix(a, b);                                      \
  }                                                                           \
  static inline __attribute__((host)) result min(left a, right b) {           \
    return __builtin_fmin##suffix(a, b);                                      \
  }
KB_OPT_FMINMAX_(float, float, float, f)
KB_OPT_FMINMAX_(double, double, double, )
KB_OPT_FMINMAX_(double, float, double, )
KB_OPT_FMINMAX_(double, double, float, )
#undef KB_OPT_FMINMAX_
)";

llvm::StringRef kbopt::compatHeaderText() { return text; }

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>
kbopt::filesWithCompatHeader(llvm::StringRef directory) {
  // A physical file system has a working directory of its own: no thread
  // changes another's.
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> disk(
      llvm::vfs::createPhysicalFileSystem().release());
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(disk);
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  memory->addFile(compatHeaderPath, /*ModificationTime=*/0,
                  llvm::MemoryBuffer::getMemBuffer(text, compatHeaderPath));
  files->pushOverlay(memory);
  files->setCurrentWorkingDirectory(directory);
  return files;
}
