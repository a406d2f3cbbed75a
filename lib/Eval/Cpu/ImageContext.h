//===- ImageContext.h - What the steps of an image build share --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the state that passes from step to step while one image is built: the
// module, its kernels, and the tables of sites, blocks, branches and
// unsupported constructs. The steps are declared in Steps.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_IMAGECONTEXT_H
#define KBOPT_LIB_EVAL_CPU_IMAGECONTEXT_H

#include "kb-opt/Eval/CpuImage.h"
#include "kbrt/DeviceAbi.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include <array>
#include <optional>

namespace kbopt::cpu {

/// NVPTX's address spaces.
enum AddressSpace : unsigned {
  Flat = 0,
  Global = 1,
  Shared = 3,
  Const = 4,
  Local = 5,
  Param = 101
};

struct SourcePlace {
  std::string file;
  unsigned line = 0, column = 0;
};

struct Site {
  kbrt::AccessKind kind = kbrt::AccessKind::Load;
  kbrt::MemorySpace space = kbrt::MemorySpace::Generic;
  bool isVolatile = false, isReadOnly = false;
  unsigned bytes = 0;
  unsigned function = ~0u;
  SourcePlace place;
  std::string array, detail;
  unsigned loadGroup = 0; ///< LoadOrder; counted images alone
  bool isAlone = false;
};

struct Parameter {
  std::string name, type, elementType;
  unsigned offset = 0, bytes = 0, align = 1, elementBytes = 0;
  bool isPointer = false, isConst = false, isRestrict = false, isByValue = false;
  std::vector<uint32_t> pointerOffsets;
};

struct SharedArray {
  std::string name, elementType;
  unsigned offset = 0, bytes = 0, align = 1, line = 0;
};

struct Stop {
  kbrt::StopKind kind = kbrt::StopKind::Barrier;
  unsigned detail = 0, site = 0;
  bool isOfWarp() const { return kind > kbrt::StopKind::BarrierReduction; }
};

/// See kbrt::SplitInfo.
struct SplitKernel {
  std::vector<llvm::Function *> regions;
  std::vector<Stop> stops;
  uint64_t slotBytes = 0, arrayBytes = 0, uniformBytes = 0;
  /// Of the regions' accesses, if those of different threads are independent; else null.
  llvm::MDNode *accessGroup = nullptr;
};

struct Kernel {
  std::string name;
  llvm::Function *function = nullptr; ///< the kernel, until it becomes `body`
  llvm::Function *counted = nullptr;  ///< its instrumented clone in mode Count
  llvm::Function *body = nullptr, *loop = nullptr, *countedBody = nullptr;
  std::optional<SplitKernel> split;
  std::vector<Parameter> parameters;
  unsigned parameterBytes = 0;
  std::vector<SharedArray> shared;
  unsigned staticSharedBytes = 0, sharedSpan = 0;
  bool usesBarrier = false, usesWarpOps = false, needsFibers = false, usesDynamicShared = false;
  bool usesAtomics = false, usesIndirectCalls = false;
  unsigned maxThreads = 0, minBlocks = 0;
  std::vector<uint32_t> unsupported;
  SourcePlace place;
};

/// A pointer at `offset` to variable number `variable` plus `addend`.
struct Relocation {
  unsigned offset = 0, variable = 0;
  int64_t addend = 0;
};

struct Variable {
  std::string name, elementType;
  kbrt::VariableKind kind;
  bool isConst = false;
  llvm::GlobalVariable *global = nullptr;  ///< as the device module has it
  llvm::GlobalVariable *initial = nullptr; ///< initial bytes in the image; null for zeros
  llvm::GlobalVariable *slot = nullptr;
  std::vector<Relocation> relocations;
  uint64_t bytes = 0;
  unsigned line = 0;
};

struct Mix {
  SourcePlace place;
  std::array<uint16_t, kbrt::opCount> ops{};
};

struct CountedBlock {
  unsigned function = ~0u, firstMix = 0, mixCount = 0, instructions = 0, loopDepth = 0;
  SourcePlace place;
};

struct Branch {
  unsigned function = ~0u, block = 0;
  SourcePlace place;
  bool isLoopExit = false;
};

/// A source place behind the flag \p index of \p flags.
struct ReachedPlace {
  llvm::GlobalVariable *flags = nullptr;
  unsigned index = 0, function = 0, line = 0, column = 0;
};

/// From one basic block to another.
struct TakenEdge {
  llvm::GlobalVariable *flags = nullptr; ///< ReachedPlace's, of both
  unsigned from = 0, to = 0;
  llvm::GlobalVariable *misses = nullptr; ///< with its kbrt::NearestMiss; null where there is none
  unsigned way = 0;                       ///< of them
};

/// Declared in device code where a 32-bit shared address becomes a pointer.
constexpr const char sharedPointerFunction[] = "kb.shared.pointer";

class ImageContext {
public:
  ImageContext(llvm::Module &module, kbrt::ImageMode mode);

  llvm::Module &module;
  kbrt::ImageMode mode;
  std::string mainFile;
  bool flushDenormals = false;
  bool contracts = true;      ///< not -fmad=false
  bool splitsBarriers = true; ///< of kernels where that is possible
  std::vector<Kernel> kernels;
  std::vector<Variable> variables;
  std::vector<Site> sites;
  unsigned loadGroups = 0; ///< numbers that sites have
  std::vector<CountedBlock> blocks;
  std::vector<Mix> mixes;
  std::vector<Branch> branches;
  std::vector<UnsupportedConstruct> unsupported;
  std::vector<ReachedPlace> reached; ///< modes Check and Search
  std::vector<TakenEdge> edges;      ///< mode Search

  /// The innermost place of \p location in the main file; without one the
  /// innermost outside system headers, else the innermost.
  SourcePlace placeOf(const llvm::DebugLoc &location) const;

  unsigned addSite(const llvm::Instruction &at, kbrt::AccessKind kind, llvm::StringRef detail,
                   kbrt::MemorySpace space = kbrt::MemorySpace::Generic, unsigned bytes = 0);

  /// The declaration of a runtime function of DeviceAbi.h.
  llvm::FunctionCallee runtime(llvm::StringRef name);
  /// A call of a runtime function whose first parameter is a site.
  llvm::CallInst *callAtSite(llvm::IRBuilderBase &builder, llvm::StringRef name, unsigned site,
                             llvm::ArrayRef<llvm::Value *> arguments);
  /// Ends the launch when it is reached; gives a zero of \p type to go on with.
  llvm::Value *emitUnsupported(llvm::IRBuilderBase &builder, const llvm::Instruction &at,
                               llvm::StringRef construct, llvm::Type *type);

  bool isMainFile(const llvm::DIFile *file) const;

  /// A stack slot in the entry block of \p builder's function.
  static llvm::AllocaInst *entryAlloca(llvm::IRBuilderBase &builder, llvm::Type *type,
                                       const llvm::Twine &name);
  /// Functions that \p root reaches through direct calls, with itself, and
  /// every function whose address is taken if it calls indirectly.
  std::vector<llvm::Function *> reachableFrom(llvm::Function &root, bool *indirect = nullptr) const;

private:
  std::string mainPath;
  mutable llvm::DenseMap<const llvm::DIFile *, bool> mainFiles;
};

/// The generic-space struct field at \p offset, loaded once and for all.
llvm::LoadInst *loadField(llvm::IRBuilderBase &builder, llvm::Type *type, llvm::Value *base,
                          size_t offset, const llvm::Twine &name);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_IMAGECONTEXT_H
