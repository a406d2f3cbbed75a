//===- Metadata.cpp - Kernels and variables as the program declares them --===//
// SPDX-License-Identifier: Apache-2.0
#include "Steps.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace kbopt::cpu {

/// Without typedefs' and qualifiers' clothes; notes whether it was const.
static const DIType *strip(const DIType *type, bool &isConst, bool throughTypedef) {
  while (auto *derived = dyn_cast_or_null<DIDerivedType>(type)) {
    unsigned tag = derived->getTag();
    if (tag == dwarf::DW_TAG_const_type)
      isConst = true;
    else if (tag != dwarf::DW_TAG_volatile_type && tag != dwarf::DW_TAG_restrict_type &&
             !(tag == dwarf::DW_TAG_typedef && throughTypedef))
      break;
    type = derived->getBaseType();
  }
  return type;
}

static bool isPointerTag(const DIType *type) {
  return type && (type->getTag() == dwarf::DW_TAG_pointer_type ||
                  type->getTag() == dwarf::DW_TAG_reference_type ||
                  type->getTag() == dwarf::DW_TAG_rvalue_reference_type);
}

/// As the source spells it, as far as debug information tells.
static std::string spell(const DIType *type) {
  if (!type)
    return "void";
  if (auto *derived = dyn_cast<DIDerivedType>(type)) {
    std::string base = derived->getName().empty() ? spell(derived->getBaseType()) : "";
    switch (derived->getTag()) {
    case dwarf::DW_TAG_pointer_type:
      return base + " *";
    case dwarf::DW_TAG_reference_type:
      return base + " &";
    case dwarf::DW_TAG_rvalue_reference_type:
      return base + " &&";
    case dwarf::DW_TAG_const_type:
      return "const " + base;
    case dwarf::DW_TAG_volatile_type:
      return "volatile " + base;
    case dwarf::DW_TAG_restrict_type:
      return base + "__restrict__";
    default:
      return derived->getName().str();
    }
  }
  if (auto *composite = dyn_cast<DICompositeType>(type))
    if (composite->getTag() == dwarf::DW_TAG_array_type)
      return spell(composite->getBaseType()) + " []";
  return type->getName().str();
}

/// The element of (nested) arrays.
static const DIType *elementOf(const DIType *type) {
  bool ignored = false;
  type = strip(type, ignored, true);
  while (auto *composite = dyn_cast_or_null<DICompositeType>(type)) {
    if (composite->getTag() != dwarf::DW_TAG_array_type)
      break;
    type = strip(composite->getBaseType(), ignored, true);
  }
  return type;
}

static void findPointers(Type *type, uint64_t offset, const DataLayout &layout,
                         std::vector<uint32_t> &offsets) {
  if (type->isPointerTy()) {
    offsets.push_back(offset);
  } else if (auto *structure = dyn_cast<StructType>(type)) {
    const StructLayout *fields = layout.getStructLayout(structure);
    for (unsigned i = 0; i < structure->getNumElements(); ++i)
      findPointers(structure->getElementType(i), offset + fields->getElementOffset(i), layout,
                   offsets);
  } else if (auto *array = dyn_cast<ArrayType>(type)) {
    uint64_t size = layout.getTypeAllocSize(array->getElementType());
    for (uint64_t i = 0; i < array->getNumElements() && i < 4096; ++i)
      findPointers(array->getElementType(), offset + i * size, layout, offsets);
  }
}

static Parameter describeParameter(const Argument &argument, const DIType *type,
                                   const DataLayout &layout) {
  Parameter p;
  Type *stored = argument.hasByValAttr() ? argument.getParamByValType() : argument.getType();
  p.isByValue = argument.hasByValAttr();
  p.bytes = layout.getTypeAllocSize(stored);
  Align align = layout.getABITypeAlign(stored);
  if (p.isByValue)
    align = argument.getParamAlign().value_or(align);
  p.align = align.value();
  p.isPointer = !p.isByValue && stored->isPointerTy();
  p.isRestrict = argument.hasNoAliasAttr();
  findPointers(stored, 0, layout, p.pointerOffsets);
  if (!type)
    return p;
  p.type = spell(type);
  bool ignored = false;
  const DIType *pointer = strip(type, ignored, true);
  if (p.isPointer && isPointerTag(pointer)) {
    const DIType *pointee = cast<DIDerivedType>(pointer)->getBaseType();
    pointee = strip(pointee, p.isConst, false);
    p.elementType = spell(pointee);
    const DIType *canonical = strip(pointee, ignored, true);
    p.elementBytes = canonical ? canonical->getSizeInBits() / 8 : 0;
  }
  return p;
}

static unsigned numberAttribute(const Function &function, StringRef name) {
  unsigned product = 1;
  if (!function.hasFnAttribute(name))
    return 0;
  SmallVector<StringRef> parts;
  function.getFnAttribute(name).getValueAsString().split(parts, ',');
  for (StringRef part : parts) {
    unsigned value = 0;
    if (part.trim().getAsInteger(10, value))
      return 0;
    product *= value;
  }
  return product;
}

static Kernel describeKernel(Function &function, const ImageContext &context) {
  Kernel kernel;
  kernel.name = function.getName().str();
  kernel.function = &function;
  kernel.maxThreads = numberAttribute(function, "nvvm.maxntid");
  kernel.minBlocks = numberAttribute(function, "nvvm.minctasm");
  const DISubprogram *subprogram = function.getSubprogram();
  DITypeRefArray types(nullptr);
  if (subprogram) {
    kernel.place = {subprogram->getFilename().str(), subprogram->getLine(), 0};
    if (subprogram->getType())
      types = subprogram->getType()->getTypeArray();
  }
  std::vector<std::string> names(function.arg_size());
  std::vector<const DIType *> variableTypes(function.arg_size());
  for (Instruction &instruction : instructions(function))
    for (DbgVariableRecord &record : filterDbgVars(instruction.getDbgRecordRange())) {
      const DILocalVariable *variable = record.getVariable();
      if (unsigned number = variable->getArg();
          number && number <= names.size() && variable->getScope() == subprogram) {
        names[number - 1] = variable->getName().str();
        variableTypes[number - 1] = variable->getType();
      }
    }
  for (Argument &argument : function.args()) {
    unsigned index = argument.getArgNo();
    const DIType *type = variableTypes[index];
    if (!type && types && index + 1 < types.size())
      type = types[index + 1];
    Parameter p = describeParameter(argument, type, context.module.getDataLayout());
    p.name = names[index];
    kernel.parameterBytes = alignTo(kernel.parameterBytes, p.align);
    p.offset = kernel.parameterBytes;
    kernel.parameterBytes += p.bytes;
    if (!p.name.empty())
      argument.setName(p.name);
    kernel.parameters.push_back(std::move(p));
  }
  return kernel;
}

/// Stack variables get their names from debug information, for access sites.
static void nameLocals(Function &function) {
  for (Instruction &instruction : instructions(function))
    for (DbgVariableRecord &record : filterDbgVars(instruction.getDbgRecordRange()))
      if (record.isDbgDeclare())
        if (auto *local = dyn_cast_or_null<AllocaInst>(record.getAddress());
            local && !local->hasName())
          local->setName(record.getVariable()->getName());
}

void collectMetadata(ImageContext &context) {
  for (Function &function : context.module)
    if (!function.isDeclaration() && function.getCallingConv() == CallingConv::PTX_Kernel)
      context.kernels.push_back(describeKernel(function, context));
  // After the parameters, which keep their names where both have the same.
  for (Function &function : context.module)
    nameLocals(function);
  for (GlobalVariable &global : context.module.globals()) {
    unsigned space = global.getAddressSpace();
    if (global.getName().starts_with("llvm.") || space == Shared || !global.hasInitializer())
      continue;
    Variable variable;
    variable.name = global.getName().str();
    variable.global = &global;
    variable.isConst = global.isConstant();
    variable.bytes = context.module.getDataLayout().getTypeAllocSize(global.getValueType());
    // What the host can name is in device memory; literals and tables that the
    // program never writes stay inside the image.
    if (global.isExternallyInitialized() || !global.isConstant())
      variable.kind = space == Const ? kbrt::VariableKind::Constant : kbrt::VariableKind::Device;
    else
      variable.kind = kbrt::VariableKind::Image;
    if (global.getName().ends_with(".managed"))
      variable.kind = kbrt::VariableKind::Managed;
    SmallVector<DIGlobalVariableExpression *, 1> expressions;
    global.getDebugInfo(expressions);
    if (!expressions.empty()) {
      const DIGlobalVariable *info = expressions.front()->getVariable();
      variable.line = info->getLine();
      if (const DIType *element = elementOf(info->getType()))
        variable.elementType = spell(element);
    }
    context.variables.push_back(std::move(variable));
  }
}

} // namespace kbopt::cpu
