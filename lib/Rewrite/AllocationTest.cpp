//===- AllocationTest.cpp - Telling allocations apart at a launch ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/AllocationTest.h"
#include "HostFunctions.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

AllocationTest::AllocationTest(const PassContext &context, const FunctionDecl *kernel)
    : function(allocationTest) {
  const ASTContext &ast = context.parsed().context();
  // CUDA 13 warns of the function without a version, CUDA 12.4 does not have the other one.
  for (StringRef name : {"cudaGetDriverEntryPointByVersion", "cudaGetDriverEntryPoint"})
    if (entryPoint.empty() && functionCalled(ast, name))
      entryPoint = name.str();
  const FunctionDecl *known = functionCalled(ast, function);
  isDefined = known && known->isDefined() && known->getReturnType()->isBooleanType() &&
              known->getNumParams() == 2 &&
              context.parsed().sources().isBeforeInTranslationUnit(known->getLocation(),
                                                                   kernel->getLocation());
  if (!isDefined)
    function = context.unusedName(function);
}

std::string AllocationTest::missingDefinition() const {
  if (isDefined)
    return "";
  constexpr const char *text = R"(

// Whether `a` and `b` point into two allocations. The driver's function is found at run time, so that nothing
// more has to be linked.
static inline bool {0}(const void *a, const void *b) {{
  using Find = int (*)(unsigned long long *begin, size_t *bytes, unsigned long long pointer);
  static const Find find = [] {{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult status;
    bool isKnown = {1}("cuMemGetAddressRange", &found, {2}cudaEnableDefault, &status) == cudaSuccess;
    return isKnown ? (Find)found : nullptr;
  }();
  unsigned long long ofA = 0, ofB = 0;
  size_t bytes = 0;
  return find && find(&ofA, &bytes, (unsigned long long)a) == 0 && find(&ofB, &bytes, (unsigned long long)b) == 0 && ofA != ofB;
})";
  bool hasVersion = StringRef(entryPoint).ends_with("ByVersion");
  return llvm::formatv(text, function, entryPoint, hasVersion ? "12000, " : "").str();
}
