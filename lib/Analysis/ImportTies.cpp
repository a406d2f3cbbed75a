//===- ImportTies.cpp - Locations, names and expressions of a kernel --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the parts of KernelImporter that say things in the source's terms.
//
//===----------------------------------------------------------------------===//
#include "KernelImporter.h"

#include "clang/AST/RecordLayout.h"
#include "clang/Lex/Lexer.h"
#include "llvm/Demangle/Demangle.h"

using namespace llvm;

namespace kbopt::analysis {

/// Debug locations lead from the innermost inlined function out to the kernel;
/// the first that is user code counts.
KernelImporter::Origin KernelImporter::originOf(const DILocation *location) {
  Origin origin{kernel.getLoc(), nullptr, {}};
  const DILocation *inner = location;
  for (; inner; inner = inner->getInlinedAt()) {
    origin.body = index.body(device.functionName(inner->getScope()->getSubprogram()));
    if (origin.body)
      break;
  }
  if (!inner || inner->getLine() == 0) {
    origin.body = inner ? origin.body : nullptr;
    return origin;
  }
  origin.place = {inner->getLine(), inner->getColumn()};
  const clang::SourceManager &sources = program.sources();
  auto fileOf = [&](const BodyIndex *body) {
    clang::SourceLocation at = sources.getExpansionLoc(body->function->getLocation());
    return mlir::StringAttr::get(
        context, sources.isInMainFile(at) ? program.shownFile()
                                          : StringRef(sources.getPresumedLoc(at).getFilename()));
  };
  origin.location =
      mlir::FileLineColLoc::get(fileOf(origin.body), inner->getLine(), inner->getColumn());
  for (const DILocation *outer = inner->getInlinedAt(); outer; outer = outer->getInlinedAt())
    if (const BodyIndex *body = index.body(device.functionName(outer->getScope()->getSubprogram())))
      origin.location = mlir::CallSiteLoc::get(
          origin.location,
          mlir::FileLineColLoc::get(fileOf(body), outer->getLine(), outer->getColumn()));
  return origin;
}

mlir::Location KernelImporter::rangeLocation(clang::SourceRange range) {
  const clang::SourceManager &sources = program.sources();
  clang::CharSourceRange chars = sources.getExpansionRange(range);
  clang::SourceLocation end = chars.getEnd();
  if (chars.isTokenRange())
    end = clang::Lexer::getLocForEndOfToken(end, 0, sources, program.language());
  clang::PresumedLoc first = sources.getPresumedLoc(chars.getBegin());
  clang::PresumedLoc past = sources.getPresumedLoc(end);
  if (first.isInvalid() || past.isInvalid())
    return mlir::UnknownLoc::get(context);
  StringRef file =
      sources.isInMainFile(chars.getBegin()) ? program.shownFile() : StringRef(first.getFilename());
  return mlir::FileLineColRange::get(mlir::StringAttr::get(context, file), first.getLine(),
                                     first.getColumn(), past.getLine(), past.getColumn());
}

/// \p origin with the exact range of the node in place of the point.
mlir::Location KernelImporter::locationOf(const Origin &origin, clang::SourceRange range) {
  mlir::Location location = rangeLocation(range);
  if (isa<mlir::UnknownLoc>(location))
    return origin.location;
  if (auto call = dyn_cast<mlir::CallSiteLoc>(origin.location)) {
    SmallVector<mlir::Location> callers;
    mlir::Location up = call;
    while (auto site = dyn_cast<mlir::CallSiteLoc>(up)) {
      callers.push_back(site.getCaller());
      up = site.getCallee();
    }
    for (mlir::Location caller : llvm::reverse(callers))
      location = mlir::CallSiteLoc::get(location, caller);
  }
  return location;
}

void KernelImporter::tie(mlir::Operation *op, const Origin &origin, const clang::Stmt *statement) {
  if (statement)
    ties.statements[op] = statement;
  if (origin.body)
    ties.functions[op] = origin.body->function;
}

/// The name of the field at \p offset of \p type: ".n", ".size.x", ".dims[2]".
static std::string fieldPath(const clang::ASTContext &ast, clang::QualType type, int64_t offset,
                             clang::QualType &leaf) {
  leaf = type;
  if (auto *array = ast.getAsConstantArrayType(type)) {
    int64_t bytes = ast.getTypeSizeInChars(array->getElementType()).getQuantity();
    if (bytes == 0)
      return "";
    return "." + std::to_string(offset / bytes) +
           fieldPath(ast, array->getElementType(), offset % bytes, leaf);
  }
  const clang::RecordDecl *record = type->getAsRecordDecl();
  if (!record || !record->getDefinition() || record->isDependentContext())
    return "";
  const clang::ASTRecordLayout &layout = ast.getASTRecordLayout(record->getDefinition());
  if (auto *derived = dyn_cast<clang::CXXRecordDecl>(record))
    for (const clang::CXXBaseSpecifier &base : derived->bases()) {
      if (base.isVirtual())
        continue;
      const clang::CXXRecordDecl *parent = base.getType()->getAsCXXRecordDecl();
      int64_t start = layout.getBaseClassOffset(parent).getQuantity();
      int64_t size = ast.getTypeSizeInChars(base.getType()).getQuantity();
      if (!parent->isEmpty() && offset >= start && offset < start + size)
        return fieldPath(ast, base.getType(), offset - start, leaf);
    }
  for (const clang::FieldDecl *field : record->getDefinition()->fields()) {
    if (field->isBitField())
      continue;
    int64_t start = layout.getFieldOffset(field->getFieldIndex()) / 8;
    int64_t size = ast.getTypeSizeInChars(field->getType()).getQuantity();
    if (offset >= start && offset < start + size)
      return "." +
             (field->getName().empty() ? "capture" + std::to_string(field->getFieldIndex())
                                       : field->getName().str()) +
             fieldPath(ast, field->getType(), offset - start, leaf);
  }
  return "";
}

ParameterName KernelImporter::nameParameter(unsigned argument, int64_t offset) const {
  if (argument >= declaration->getNumParams())
    return {"arg" + std::to_string(argument), false};
  const clang::ParmVarDecl *parameter = declaration->getParamDecl(argument);
  std::string name =
      parameter->getName().empty() ? "arg" + std::to_string(argument) : parameter->getName().str();
  clang::QualType leaf = parameter->getType().getNonReferenceType();
  if (leaf->isRecordType() || leaf->isArrayType())
    name += fieldPath(program.context(), leaf, offset, leaf);
  std::optional<Interval> range;
  if (auto it = launches.arguments.find(argument);
      it != launches.arguments.end() && leaf->isIntegerType())
    range = it->second;
  return {name, leaf->isUnsignedIntegerOrEnumerationType(), range};
}

/// Source name of a variable in shared, constant or global memory; unique in
/// the kernel.
std::string KernelImporter::spaceName(const GlobalVariable &variable) {
  std::string &name = globalNames[&variable];
  if (!name.empty())
    return name;
  if (const clang::VarDecl *source = index.sharedVariable(variable.getName()))
    name = source->getNameAsString();
  if (name.empty()) {
    std::string demangled = llvm::demangle(variable.getName());
    size_t scope = demangled.rfind("::");
    name = scope == std::string::npos ? demangled : demangled.substr(scope + 2);
  }
  std::string plain = name;
  for (unsigned suffix = 2;; ++suffix) {
    bool taken = llvm::any_of(
        globalNames, [&](auto &entry) { return entry.first != &variable && entry.second == name; });
    if (!taken)
      return name;
    name = plain + "$" + std::to_string(suffix);
  }
}

kb::BaseAttr KernelImporter::baseOf(const Address &address) {
  auto make = [&](kb::BaseKind kind, StringRef name, int64_t argument = -1, int64_t offset = 0) {
    return kb::BaseAttr::get(context, kind, name, argument, offset);
  };
  switch (address.kind) {
  case Address::Argument:
    return make(kb::BaseKind::Argument, nameParameter(address.argument, 0).name, address.argument);
  case Address::Field:
    return make(kb::BaseKind::Argument, nameParameter(address.argument, address.byteOffset).name,
                address.argument, address.byteOffset);
  case Address::Global:
    return make(kb::BaseKind::Global, spaceName(*cast<GlobalVariable>(address.base)));
  case Address::Local:
    return make(kb::BaseKind::Local, address.base->getName());
  case Address::Loaded:
    return make(kb::BaseKind::Loaded, address.base->getName());
  case Address::Unknown:
    break;
  }
  return make(kb::BaseKind::Unknown, "");
}

kb::MemorySpace KernelImporter::spaceOf(const Address &address, Value *pointer) {
  auto named = [](unsigned space) {
    switch (space) {
    case 1:
      return kb::MemorySpace::Global;
    case 3:
      return kb::MemorySpace::Shared;
    case 4:
      return kb::MemorySpace::Constant;
    case 5:
      return kb::MemorySpace::Local;
    case 101:
      return kb::MemorySpace::Param;
    default:
      return kb::MemorySpace::Generic;
    }
  };
  switch (address.kind) {
  case Address::Argument:
    // What the host passes to a kernel points to global memory.
    return function.getArg(address.argument)->hasByValAttr() ? kb::MemorySpace::Param
                                                             : kb::MemorySpace::Global;
  case Address::Field:
    return kb::MemorySpace::Global;
  case Address::Local:
    return kb::MemorySpace::Local;
  case Address::Global: {
    unsigned space = cast<GlobalVariable>(address.base)->getAddressSpace();
    return space                                              ? named(space)
           : cast<GlobalVariable>(address.base)->isConstant() ? kb::MemorySpace::Constant
                                                              : kb::MemorySpace::Global;
  }
  default:
    return named(pointer->getType()->getPointerAddressSpace());
  }
}

SmallVector<mlir::StringAttr> KernelImporter::names(ArrayRef<VarId> symbols) {
  SmallVector<mlir::StringAttr> result;
  for (VarId var : symbols)
    result.push_back(mlir::StringAttr::get(context, model.symbol(var)->name));
  return result;
}

SmallVector<mlir::StringAttr> KernelImporter::names(ArrayRef<const Loop *> around) {
  SmallVector<mlir::StringAttr> result;
  for (const Loop *loop : around)
    result.push_back(loopFor(loop).getNameAttr());
  return result;
}

/// \p poly as an affine expression; \p symbols collects those it uses. Null if
/// it counts a loop that is not in \p around.
mlir::AffineExpr KernelImporter::affine(const Poly &poly, ArrayRef<const Loop *> around,
                                        SmallVectorImpl<VarId> &symbols) {
  std::set<VarId> leaves;
  model.vars.collectLeaves(poly, leaves);
  for (VarId var : leaves) {
    if (var < FirstOtherVar || llvm::is_contained(symbols, var))
      continue;
    if (model.symbol(var))
      symbols.push_back(var);
    else if (llvm::none_of(around, [&](const Loop *loop) { return model.loop(loop).var == var; }))
      return {};
  }
  return model.vars.toAffine(poly, context, [&](VarId var) -> mlir::AffineExpr {
    if (var < BdimVar)
      return mlir::getAffineDimExpr(var, context);
    if (var < FirstOtherVar)
      return mlir::getAffineSymbolExpr(var - BdimVar, context);
    auto symbol = llvm::find(symbols, var);
    if (symbol != symbols.end())
      return mlir::getAffineSymbolExpr(kb::firstNamedSymbol + (symbol - symbols.begin()), context);
    for (auto [position, loop] : llvm::enumerate(around))
      if (model.loop(loop).var == var)
        return mlir::getAffineDimExpr(kb::firstLoopDim + position, context);
    llvm_unreachable("every leaf was looked up above");
  });
}

kb::ExprAttr KernelImporter::expression(const std::optional<Poly> &poly,
                                        ArrayRef<const Loop *> around) {
  if (!poly)
    return {};
  SmallVector<VarId> symbols;
  mlir::AffineExpr expr = affine(*poly, around, symbols);
  if (!expr)
    return {};
  usedSymbols.insert(symbols.begin(), symbols.end());
  auto map = mlir::AffineMap::get(kb::firstLoopDim + around.size(),
                                  kb::firstNamedSymbol + symbols.size(), expr);
  return kb::ExprAttr::get(context, names(around), names(symbols), map);
}

kb::DomainAttr KernelImporter::domain(const BasicBlock *block, AssumptionSet &assumes) {
  bool exact = true;
  SmallVector<const Loop *> around = loopsAround(block);
  SmallVector<VarId> symbols;
  SmallVector<mlir::AffineExpr> constraints;
  SmallVector<bool> equalities;
  for (const Condition &condition : model.conditions(block, exact)) {
    SmallVector<VarId> tried = symbols;
    mlir::AffineExpr expr = affine(condition.poly, around, tried);
    if (!expr || isa<mlir::AffineConstantExpr>(expr)) {
      exact &= bool(expr);
      continue;
    }
    symbols = tried;
    bool known = false;
    for (auto [index, other] : llvm::enumerate(constraints))
      known |= other == expr && equalities[index] == condition.isEquality;
    if (known)
      continue;
    assumes.insert(condition.assumes.begin(), condition.assumes.end());
    constraints.push_back(expr);
    equalities.push_back(condition.isEquality);
  }
  if (constraints.empty())
    return exact ? kb::DomainAttr() : kb::DomainAttr::unknown(context, names(around), {});
  usedSymbols.insert(symbols.begin(), symbols.end());
  auto set = mlir::IntegerSet::get(kb::firstLoopDim + around.size(),
                                   kb::firstNamedSymbol + symbols.size(), constraints, equalities);
  return kb::DomainAttr::get(context, names(around), names(symbols), set, exact);
}

} // namespace kbopt::analysis
