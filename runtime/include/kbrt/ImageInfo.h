//===- ImageInfo.h - The tables of a CPU image ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the layout of what a CPU image (a shared object with device code for
// the host) tells about itself. The image's compiler writes these tables, the
// CPU runtime and the judge read them. Standard layout only, no pointers into
// anything but the image itself. What the image calls back is DeviceAbi.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_IMAGEINFO_H
#define KBRT_IMAGEINFO_H

#include <stdint.h>

namespace kbrt {

struct Block;
struct Thread;

/// Changes whenever a structure or a function of ImageInfo.h or DeviceAbi.h
/// does; a runtime refuses an image with another version.
constexpr uint32_t imageAbiVersion = 5;
/// The symbol of type `const ImageInfo` that every image exports.
constexpr const char imageSymbol[] = "kbrt_image";

enum class ImageMode : uint32_t {
  Plain,  ///< no instrumentation
  Check,  ///< every access calls kbrt_check_*, every local array is registered
  Count,  ///< `countedBody` logs accesses, basic blocks and branches
  Oracle, ///< floating-point numbers carry shadows (Oracle.h)
  Search, ///< basic blocks and branches say what was executed, and how near runs came to the rest
};

enum class AccessKind : uint8_t {
  Load,
  Store,
  Atomic,     ///< read-modify-write
  Barrier,    ///< block barrier, sync or arrive (bytes = 0)
  WarpOp,     ///< shuffle, vote, match, reduce, warp barrier, mma (bytes = 0)
  LocalArray, ///< creation of a local array (bytes = its size)
  Spin,       ///< a loop that waits for another thread
  Trap,       ///< trap, failed assertion, unreachable code
};

/// What is statically known of the memory an access touches.
enum class MemorySpace : uint8_t { Generic, Global, Shared, Constant, Local, Param };

/// One place in the source that touches memory or synchronises. Its index in
/// `ImageInfo::sites` is the site id passed to the runtime.
struct SiteInfo {
  AccessKind kind;
  MemorySpace space;
  uint8_t
      isVolatile; ///< volatile or relaxed-atomic: never part of a data race report's "plain" side
  uint8_t isReadOnly; ///< through the read-only path (__ldg, const __restrict__)
  uint32_t bytes;     ///< per lane; 0 if it varies or does not apply
  uint32_t function;  ///< index into `kernels` of the kernel it was inlined into, ~0u if shared
  uint32_t line,
      column;         ///< innermost location that lies in the main file, else innermost; 0 unknown
  const char *file;   ///< "" if unknown
  const char *array;  ///< variable or parameter the address derives from; "" if unknown
  const char *detail; ///< mnemonic: "ld.v4", "atom.add.f32", "shfl.bfly", "bar.sync", …
  /// Mode Count, loads: those with one number can wait together, 0: unknown.
  uint32_t loadGroup;
  uint32_t isAlone; ///< 1: loads of several iterations cannot wait together
};

/// One kernel parameter; its argument is read through `args[index]`.
struct ParamInfo {
  const char *name; ///< "" if unknown
  const char *type; ///< source type as debug info spells it; "" if unknown
  const char
      *elementType; ///< for pointers: pointee without cv ("float", "int", "__half", …); else ""
  uint32_t offset, bytes, align; ///< in the parameter buffer, by CUDA's layout rules
  uint32_t elementBytes;         ///< for pointers: sizeof pointee; 0 unknown
  uint8_t isPointer;
  uint8_t isConst; ///< pointer to const
  uint8_t isRestrict;
  uint8_t isByValue;              ///< struct passed by value
  const uint32_t *pointerOffsets; ///< byte offsets within the parameter of its pointers
  uint32_t pointerCount;
};

/// A statically declared shared array of a kernel.
struct SharedInfo {
  const char *name;
  uint32_t offset; ///< from Block::shared
  uint32_t bytes;  ///< 0 for `extern __shared__`, which begins at Block::dynamicShared
  uint32_t align;
  const char *elementType; ///< "" if unknown
  uint32_t line;
};

/// A construct the image's compiler could not translate. Code that reaches it
/// calls kbrt_unsupported with the index.
struct UnsupportedInfo {
  const char *construct; ///< mnemonic or intrinsic
  const char *file;
  uint32_t line, column;
};

using BodyFunction = void (*)(void **args, const Block *block, Thread *thread);
/// Runs the threads with linear ids [first, last) one after the other, and
/// keeps \p thread's tid, linear, lane and warp up to date where the body can
/// reach the runtime.
using LoopFunction = void (*)(void **args, const Block *block, Thread *thread, uint32_t first,
                              uint32_t last);

/// Where a thread of a split kernel waits for others.
enum class StopKind : uint8_t {
  Barrier,
  BarrierReduction,
  WarpSync,
  Shuffle,
  Vote,
  MatchAny,
  MatchAll,
  Redux
};

struct StopInfo {
  StopKind kind;
  uint32_t detail; ///< BarrierReduction, ShuffleMode, VoteMode or ReduxOp
  uint32_t site;
};

/// What a split kernel's threads tell the runtime when they stop, and hear from
/// it when they go on, by linear id; the first bytes of the slots.
struct Exchange {
  static constexpr uint32_t done = ~0u;
  uint32_t next[1024];              ///< the region to go on with: 1 + index of the stop; or done
  uint32_t mask[1024];              ///< of a warp operation
  uint64_t value[1024];             ///< operand or predicate
  uint32_t lane[1024], clamp[1024]; ///< of a shuffle, as in kbrt_shuffle
  uint32_t result[1024], flag[1024];
};

/// Runs the threads [first, last), which go on at one place, up to their next
/// stops. \p slots and \p arrays keep what threads remember between regions;
/// \p uniforms what all of them agree on, and \p nextUniforms receives that:
/// of the block, or of the warp if the kernel has warp stops.
using RegionFunction = void (*)(void **args, const Block *block, Thread *thread, char *slots,
                                char *arrays, const char *uniforms, char *nextUniforms,
                                uint32_t first, uint32_t last);

/// A kernel that is split where its threads wait for each other, so that plain
/// loops over threads execute it. Region 0 begins at the kernel's start, region
/// n + 1 behind stop n.
struct SplitInfo {
  const RegionFunction *regions;
  const StopInfo *stops;
  uint32_t stopCount;
  uint32_t hasWarpStops;          ///< then a region is run for threads of one warp at a time
  uint64_t slotBytes, arrayBytes; ///< for 1024 threads
  uint64_t uniformBytes;
};

struct KernelInfo {
  const char *name;         ///< mangled, as the host registers it
  const char *displayName;  ///< demangled
  BodyFunction body;        ///< one thread; null where `loop` or `split` does without
  LoopFunction loop;        ///< null if threads wait for each other
  const SplitInfo *split;   ///< null if `loop` is not or the kernel needs fibers
  BodyFunction countedBody; ///< null unless mode is Count
  const ParamInfo *params;
  uint32_t paramCount;
  uint32_t paramBytes; ///< size of the parameter buffer
  const SharedInfo *shared;
  uint32_t sharedCount;
  uint32_t staticSharedBytes; ///< what the program declares (occupancy)
  uint32_t sharedSpan; ///< bytes to allocate at Block::shared; Block::dynamicShared = shared +
                       ///< sharedSpan
  uint8_t usesBarrier; ///< block or named barriers
  uint8_t usesWarpOps; ///< shuffles, votes, warp barriers, mma, …
  uint8_t needsFibers; ///< either of the above, a spin loop, or exit in a called function
  uint8_t usesDynamicShared;
  uint8_t usesAtomics;
  uint8_t usesIndirectCalls;
  uint32_t maxThreads; ///< __launch_bounds__, 0 if none
  uint32_t minBlocks;
  const uint32_t *unsupported; ///< indices into ImageInfo::unsupported that this kernel can reach
  uint32_t unsupportedCount;
  const char *file;
  uint32_t line;
};

enum class VariableKind : uint8_t {
  Device,   ///< __device__
  Constant, ///< __constant__
  Managed,  ///< __managed__
  Image,    ///< read-only data that stays inside the image (string literals, tables)
};

/// A pointer inside a variable's initial bytes that must be set to another
/// variable's place plus an addend.
struct VariableRelocation {
  uint32_t offset;   ///< of the pointer in the initial bytes
  uint32_t variable; ///< index into ImageInfo::variables
  int64_t addend;
};

/// A variable of namespace scope. Before the first launch the runtime gives
/// each one that is not `Image` a place in the arena, copies `initial` there,
/// applies the relocations and stores the place in `*slot`; the image's code
/// reads the slot. For `Image`, `*slot` already holds the place.
struct VariableInfo {
  const char *name; ///< as the host registers it
  VariableKind kind;
  uint8_t isConst;
  uint32_t align;
  uint64_t bytes;
  const void *initial; ///< null: zeros
  void **slot;
  const VariableRelocation *relocations;
  uint32_t relocationCount;
  const char *elementType; ///< "" if unknown
  uint32_t line;
};

/// Per-lane instruction counts of one basic block.
enum class Op : uint8_t {
  FAdd,
  FMul,
  FFma,
  FDiv,
  FOther, // fp32; FDiv also sqrt
  DAdd,
  DMul,
  DFma,
  DDiv,
  DOther, // fp64
  HAdd,
  HMul,
  HFma,
  HOther, // half and bf16; packed counts as two
  IntAdd,
  IntMul,
  IntDiv,
  IntOther, // integer ALU, compares and selects included
  Special,  // ex2, lg2, sin, cos, rsqrt, rcp, tanh
  Convert,
  LoadGlobal,
  LoadShared,
  LoadConstant,
  LoadLocal,
  LoadGeneric,
  StoreGlobal,
  StoreShared,
  StoreLocal,
  StoreGeneric,
  AtomicGlobal,
  AtomicShared,
  Branch,
  Call,
  Barrier,
  WarpOp,
  Tensor,
  TensorFlops, // multiply-adds x 2 per warp / 32
  Other,
};
constexpr uint32_t opCount = uint32_t(Op::Other) + 1;
constexpr const char *const opNames[opCount] = {
    "fadd",          "fmul",         "ffma",          "fdiv",          "fother",
    "dadd",          "dmul",         "dfma",          "ddiv",          "dother",
    "hadd",          "hmul",         "hfma",          "hother",        "iadd",
    "imul",          "idiv",         "iother",        "special",       "convert",
    "load.global",   "load.shared",  "load.constant", "load.local",    "load.generic",
    "store.global",  "store.shared", "store.local",   "store.generic", "atomic.global",
    "atomic.shared", "branch",       "call",          "barrier",       "warp",
    "tensor",        "tensorflops",  "other"};

/// The instructions of one basic block that share a source line.
struct MixInfo {
  const char *file;
  uint32_t line;
  uint16_t ops[opCount];
};

/// One basic block of a counted function. Its index is the index into
/// Thread::blockCounts.
struct BlockInfo {
  uint32_t function;           ///< index into `kernels`, ~0u for a function that is not inlined
  uint32_t firstMix, mixCount; ///< into ImageInfo::mixes
  uint32_t instructions;       ///< sum of all ops
  uint32_t line;
  const char *file;
  uint32_t loopDepth;
};

/// One conditional branch (or switch) of a counted function.
struct BranchInfo {
  uint32_t function;
  uint32_t line, column;
  const char *file;
  uint8_t isLoopExit; ///< one side leaves a loop
  uint32_t block;     ///< the basic block it ends
};

/// How near executions of a branch came to the way that they did not take, and what was compared
/// then. Written without order by threads; the CPU device runs them one after the other.
struct NearestMiss {
  double distance; ///< infinite before the branch was executed
  double left, right;
};

/// From one basic block to another; mode Search.
struct EdgeInfo {
  const uint8_t *from, *to;   ///< PlaceInfo::reached of the two
  const NearestMiss *nearest; ///< null where the first always leads to the second
};

/// A source place of the main file, and what says whether it was executed; modes Check and Search.
struct PlaceInfo {
  const uint8_t *reached; ///< of its basic block: not zero once it was executed
  uint32_t function;      ///< equal for places of one function
  uint32_t line, column;
};

struct ImageInfo {
  uint32_t abiVersion;
  ImageMode mode;
  const KernelInfo *kernels;
  const VariableInfo *variables;
  const SiteInfo *sites;
  const BlockInfo *blocks;
  const MixInfo *mixes;
  const BranchInfo *branches;
  const UnsupportedInfo *unsupported;
  const PlaceInfo *places;
  const EdgeInfo *edges;
  uint32_t kernelCount, variableCount, siteCount, blockCount, mixCount, branchCount,
      unsupportedCount, placeCount, edgeCount;
  const char *mainFile;
};

} // namespace kbrt

#endif // KBRT_IMAGEINFO_H
