//===- KernelParameters.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/KernelParameters.h"
#include "Pointees.h"
#include "kb-opt/Source/ProgramFacts.h"

using namespace kbopt;

KernelTypes kbopt::kernelTypes(const ParsedProgram &program) {
  KernelTypes types;
  for (const KernelFact &kernel : findKernels(program))
    for (const KernelFact::Instance &instance : kernel.instances) {
      const auto named = kbrt::pointerParameterTypes(instance.mangledName);
      std::vector<kbrt::PointeeTypes> known;
      bool isTold = false; // by the name alone
      for (const auto &[i, parameter] : llvm::enumerate(instance.function->parameters())) {
        known.push_back(pointeesOf(*parameter, *instance.function, program.context()));
        kbrt::PointeeTypes byName;
        if (named && i < named->size() && (*named)[i] != kbrt::ElementType::Unknown)
          byName[0].element = (*named)[i];
        isTold |= !known.back().empty() && known.back() != byName;
      }
      if (isTold)
        types[instance.mangledName] = std::move(known);
    }
  for (const clang::Decl *declaration : program.context().getTranslationUnitDecl()->decls()) {
    const auto *variable = llvm::dyn_cast<clang::VarDecl>(declaration);
    if (!variable || !(variable->hasAttr<clang::CUDADeviceAttr>() ||
                       variable->hasAttr<clang::CUDAConstantAttr>()))
      continue;
    if (kbrt::PointeeTypes own = numbersOf(variable->getType(), program.context()); !own.empty())
      types[variable->getName().str()] = {std::move(own)};
  }
  return types;
}

KernelRecords kbopt::kernelRecords(const ParsedProgram &program) {
  KernelRecords records;
  for (const KernelFact &kernel : findKernels(program))
    for (const KernelFact::Instance &instance : kernel.instances)
      for (const clang::ParmVarDecl *parameter : instance.function->parameters()) {
        clang::QualType pointee = parameter->getType()->getPointeeType();
        const bool isRecord = !pointee.isNull() && pointee->isRecordType() &&
                              !pointee->isIncompleteType() && !pointee->isDependentType();
        records[instance.mangledName].push_back(isRecord ? layoutOf(pointee, program.context())
                                                         : RecordLayout());
      }
  return records;
}
