//===- KernelParameters.cpp -----------------------------------------------===//
#include "kb-opt/Candidate/KernelParameters.h"
#include "kb-opt/Plan/Workload.h"
#include "kb-opt/Source/ProgramFacts.h"

using namespace kbopt;

/// The type of the numbers that \p type consists of, if all are of one type and nothing lies
/// between them; adds their bytes to \p bytes.
static kbrt::ElementType numbersIn(clang::QualType type, const clang::ASTContext &ast,
                                   int64_t &bytes) {
  if (const auto *array = ast.getAsConstantArrayType(type)) {
    int64_t each = 0;
    kbrt::ElementType found = numbersIn(array->getElementType(), ast, each);
    bytes += each * array->getSize().getZExtValue();
    return found;
  }
  const auto *record = type->getAsCXXRecordDecl();
  kbrt::ElementType found = scalarElement(
      type.getCanonicalType().getUnqualifiedType().getAsString(ast.getPrintingPolicy()));
  if (!record || found != kbrt::ElementType::Unknown) {
    bytes += ast.getTypeSizeInChars(type).getQuantity();
    return found;
  }
  if (!record->isCompleteDefinition() || record->isUnion() || record->getNumBases())
    return kbrt::ElementType::Unknown;
  int64_t own = 0;
  bool isFirst = true;
  for (const clang::FieldDecl *field : record->fields()) {
    kbrt::ElementType each = numbersIn(field->getType(), ast, own);
    if (field->isBitField() || (!isFirst && each != found))
      return kbrt::ElementType::Unknown;
    found = each;
    isFirst = false;
  }
  bytes += own;
  return own == ast.getTypeSizeInChars(type).getQuantity() ? found : kbrt::ElementType::Unknown;
}

KernelTypes kbopt::kernelTypes(const ParsedProgram &program) {
  KernelTypes types;
  for (const KernelFact &kernel : findKernels(program))
    for (const KernelFact::Instance &instance : kernel.instances) {
      std::vector<kbrt::ElementType> known;
      bool hasStruct = false;
      for (const clang::ParmVarDecl *parameter : instance.function->parameters()) {
        clang::QualType pointee = parameter->getType()->getPointeeType();
        int64_t bytes = 0;
        bool isComplete =
            !pointee.isNull() && !pointee->isIncompleteType() && !pointee->isDependentType();
        known.push_back(isComplete ? numbersIn(pointee, program.context(), bytes)
                                   : kbrt::ElementType::Unknown);
        hasStruct |=
            isComplete && pointee->isRecordType() && known.back() != kbrt::ElementType::Unknown;
      }
      if (hasStruct || !llvm::StringRef(instance.mangledName).starts_with("_Z"))
        types[instance.mangledName] = std::move(known);
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
        records[instance.mangledName].push_back(
            isRecord ? program.context().getTypeSizeInChars(pointee).getQuantity() : 0);
      }
  return records;
}
