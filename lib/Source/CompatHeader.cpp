//===- CompatHeader.cpp - The headers that kb-opt brings along ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CompatHeader.h"

#include "UserMacros.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace kbopt;

// Sources: CUDA C++ Programming Guide, "Load Functions Using Cache Hints" and
// "Store Functions Using Cache Hints"; CUDA Math API, "Integer Intrinsics" for
// the host's min and max, "Atomic Functions" for those of nvcc. A cache hint
// changes no value, so plain accesses stand for them: analysis and the CPU
// device see the access itself. nvcc's macros are for the user's program, of
// which clang must see what nvcc compiles; CCCL and the headers of before are
// told that this is clang.
static constexpr llvm::StringLiteral cudaText = R"(#pragma once
#pragma clang system_header
#include <assert.h>
#include <math.h>
#include <new>
#include <stdio.h>
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

#define KB_OPT_DEVICE_ template <typename T> static inline __attribute__((device, always_inline))
#define KB_OPT_SCOPE_ int scope = __NV_THREAD_SCOPE_SYSTEM
#if CUDART_VERSION >= 12080
enum {
  __NV_ATOMIC_RELAXED,
  __NV_ATOMIC_CONSUME,
  __NV_ATOMIC_ACQUIRE,
  __NV_ATOMIC_RELEASE,
  __NV_ATOMIC_ACQ_REL,
  __NV_ATOMIC_SEQ_CST
};
enum {
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM
};
KB_OPT_DEVICE_ void __nv_atomic_load(const T *from, T *to, int order, KB_OPT_SCOPE_) { __atomic_load(from, to, order); }
KB_OPT_DEVICE_ T __nv_atomic_load_n(const T *from, int order, KB_OPT_SCOPE_) { return __atomic_load_n(from, order); }
KB_OPT_DEVICE_ void __nv_atomic_store(T *to, T *from, int order, KB_OPT_SCOPE_) { __atomic_store(to, from, order); }
KB_OPT_DEVICE_ void __nv_atomic_store_n(T *to, decltype(T()) value, int order, KB_OPT_SCOPE_) {
  __atomic_store_n(to, value, order);
}
KB_OPT_DEVICE_ void __nv_atomic_exchange(T *at, T *from, T *to, int order, KB_OPT_SCOPE_) {
  __atomic_exchange(at, from, to, order);
}
KB_OPT_DEVICE_ T __nv_atomic_exchange_n(T *at, decltype(T()) value, int order, KB_OPT_SCOPE_) {
  return __atomic_exchange_n(at, value, order);
}
KB_OPT_DEVICE_ bool __nv_atomic_compare_exchange(T *at, T *expected, T *desired, bool weak, int order, int failed,
                                                 KB_OPT_SCOPE_) {
  return __atomic_compare_exchange(at, expected, desired, weak, order, failed);
}
KB_OPT_DEVICE_ bool __nv_atomic_compare_exchange_n(T *at, T *expected, decltype(T()) desired, bool weak, int order,
                                                   int failed, KB_OPT_SCOPE_) {
  return __atomic_compare_exchange_n(at, expected, desired, weak, order, failed);
}
#define KB_OPT_FETCH_(name)                                                   \
  KB_OPT_DEVICE_ T __nv_atomic_fetch_##name(T *at, decltype(T()) value, int order, KB_OPT_SCOPE_) { \
    return __atomic_fetch_##name(at, value, order);                           \
  }                                                                           \
  KB_OPT_DEVICE_ void __nv_atomic_##name(T *at, decltype(T()) value, int order, KB_OPT_SCOPE_) { \
    __atomic_fetch_##name(at, value, order);                                  \
  }
KB_OPT_FETCH_(add)
KB_OPT_FETCH_(sub)
KB_OPT_FETCH_(and)
KB_OPT_FETCH_(or)
KB_OPT_FETCH_(xor)
KB_OPT_FETCH_(min)
KB_OPT_FETCH_(max)
#undef KB_OPT_FETCH_
static inline __attribute__((device, always_inline)) void __nv_atomic_thread_fence(int order, KB_OPT_SCOPE_) {
  __atomic_thread_fence(order);
}
#endif
#undef KB_OPT_SCOPE_
#undef KB_OPT_DEVICE_

#if __has_include(<nv/target>)
#include <nv/target>
#endif
#if __has_include(<cuda/std/__cccl/compiler.h>)
#include <cuda/std/__cccl/compiler.h>
#elif __has_include(<cuda/std/detail/__config>)
#include <cuda/std/detail/__config>
#endif
// Clang's own is empty, which #if does not take.
#undef __CUDACC__
#define __CUDACC__ 1
#ifndef __NVCC__
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#endif
)";

// OpenMP 5.2, chapter 18, as seen by a program that runs in one thread: that is
// what its pragmas amount to when they are ignored, and results stay the same
// from run to run.
static constexpr llvm::StringLiteral openMpText = R"(#pragma once
#pragma clang system_header
#include <time.h>
typedef enum omp_sched_t { omp_sched_static = 1, omp_sched_dynamic, omp_sched_guided, omp_sched_auto } omp_sched_t;
typedef struct { int held; } omp_lock_t;
typedef struct { int held; } omp_nest_lock_t;
static inline int omp_get_thread_num(void) { return 0; }
static inline int omp_get_num_threads(void) { return 1; }
static inline int omp_get_max_threads(void) { return 1; }
static inline int omp_get_num_procs(void) { return 1; }
static inline int omp_in_parallel(void) { return 0; }
static inline int omp_get_dynamic(void) { return 0; }
static inline int omp_get_nested(void) { return 0; }
static inline int omp_get_level(void) { return 0; }
static inline int omp_get_num_devices(void) { return 0; }
static inline int omp_get_thread_limit(void) { return 1; }
static inline void omp_set_num_threads(int) {}
static inline void omp_set_dynamic(int) {}
static inline void omp_set_nested(int) {}
static inline void omp_set_max_active_levels(int) {}
static inline void omp_set_schedule(omp_sched_t, int) {}
static inline void omp_init_lock(omp_lock_t *lock) { lock->held = 0; }
static inline void omp_destroy_lock(omp_lock_t *) {}
static inline void omp_set_lock(omp_lock_t *lock) { lock->held = 1; }
static inline void omp_unset_lock(omp_lock_t *lock) { lock->held = 0; }
static inline int omp_test_lock(omp_lock_t *lock) { return lock->held ? 0 : (lock->held = 1); }
static inline double omp_get_wtime(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
static inline double omp_get_wtick(void) { return 1e-9; }
)";

static constexpr CompatHeader headers[] = {
    {"kb_opt_cuda_compat.h", cudaText},
    {"omp.h", openMpText},
};

llvm::ArrayRef<CompatHeader> kbopt::compatHeaders() { return headers; }

std::vector<std::string> kbopt::compatArguments() {
  return {"-include", (compatFolder + "/" + headers[0].name).str(), "-isystem", compatFolder.str()};
}

std::vector<std::string> kbopt::macroArguments() {
  return {"-include", (compatFolder + "/" + macrosHeader).str()};
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>
kbopt::filesWithCompatHeaders(const CompileCommand &command) {
  // A physical file system has a working directory of its own: no thread
  // changes another's.
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> disk(
      llvm::vfs::createPhysicalFileSystem().release());
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(disk);
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (const CompatHeader &header : headers)
    memory->addFile(compatFolder + "/" + header.name, /*ModificationTime=*/0,
                    llvm::MemoryBuffer::getMemBuffer(header.text, header.name));
  memory->addFile(compatFolder + "/" + macrosHeader, /*ModificationTime=*/0,
                  llvm::MemoryBuffer::getMemBufferCopy(userMacrosText(command), macrosHeader));
  files->pushOverlay(memory);
  files->setCurrentWorkingDirectory(command.directory);
  return files;
}
