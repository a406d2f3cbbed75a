//===- LaunchMemory.cpp - Memory that a launch needs ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/LaunchMemory.h"
#include "HostFunctions.h"
#include "Schedule/HostText.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

LaunchMemory::LaunchMemory(const PassContext &context, const FunctionDecl *kernel)
    : function(launchMemoryFunction) {
  const ASTContext &ast = context.parsed().context();
  hasPools = functionCalled(ast, "cudaMallocAsync") && functionCalled(ast, "cudaFreeAsync") &&
             functionCalled(ast, "cudaMemPoolGetAttribute");
  const FunctionDecl *known = functionCalled(ast, function);
  isDefined = known && known->isDefined() && known->getReturnType()->isVoidPointerType() &&
              known->getNumParams() == 2 &&
              context.parsed().sources().isBeforeInTranslationUnit(known->getLocation(),
                                                                   kernel->getLocation());
  if (!isDefined)
    function = context.unusedName(function);
}

std::string LaunchMemory::missingDefinition() const {
  if (isDefined)
    return "";
  constexpr const char *text = R"(

// Memory for what `stream` runs next; null if there is none. The device's pool keeps so many bytes when it is idle, so
// that the next launch gets them at once.
static inline void *{0}(size_t bytes, cudaStream_t stream) {{
  int device = 0;
  cudaMemPool_t pool;
  unsigned long long kept = 0;
  if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess &&
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept) == cudaSuccess && kept < bytes) {{
    kept = bytes;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
  }
  void *memory = nullptr;
  if (cudaMallocAsync(&memory, bytes, stream) == cudaSuccess)
    return memory;
  cudaGetLastError(); // no error of the program: the given kernel runs
  return nullptr;
})";
  return llvm::formatv(text, function).str();
}

static std::string bytesOf(const GeneratedKernel::Memory &memory, StringRef count) {
  return "sizeof(" + memory.type + ") * " + asOperand(count);
}

static std::string orDefault(StringRef stream) { return stream.empty() ? "0" : stream.str(); }

std::string LaunchMemory::declaration(const GeneratedKernel::Memory &memory, StringRef name,
                                      StringRef count, StringRef condition,
                                      StringRef stream) const {
  const std::string pointer = memory.type + " *", value = "(" + pointer + ")" + function + "(" +
                                                          bytesOf(memory, count) + ", " +
                                                          orDefault(stream) + ")";
  return pointer + name.str() + " = " +
         (condition.empty() ? value : condition.str() + " ? " + value + " : nullptr");
}

std::string LaunchMemory::clearing(const GeneratedKernel::Memory &memory, StringRef name,
                                   StringRef count, StringRef stream) {
  return "cudaMemsetAsync(" + name.str() + ", 0, " + bytesOf(memory, count) + ", " +
         orDefault(stream) + ");\n";
}
