//===- BenignRaces.cpp - Stores of one value by many threads --------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   if (x[i] > limit)
//     *found = 1;
// ==>
//   if (x[i] > limit)
//     cuda::atomic_ref<int, cuda::thread_scope_device>(*found).store(1,
//     cuda::memory_order_relaxed);
//
// Owns the stores by which several threads of a block give one element the same value, and the
// relaxed store in their place. The order of the threads does not matter, but CUDA calls it a race.
//
//===----------------------------------------------------------------------===//
#include "Collect.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Source/Anchor.h"

using namespace kbopt;
using namespace clang;

/// The assignment of \p body that stores to \p element; null if nothing but one does.
static const BinaryOperator *assignmentTo(const Stmt *body, const Expr *element) {
  for (const auto *each : ast::findAll<BinaryOperator>(body))
    if (each->getOpcode() == BO_Assign && each->getLHS() == element)
      return each;
  return nullptr;
}

/// Whether \p value is the same in all threads of a launch: a constant, or a parameter that
/// \p kernel does not change.
static bool isOneValue(const FunctionDecl *kernel, const Expr *value, const ASTContext &ast) {
  if (!value->isValueDependent() && value->isEvaluatable(ast))
    return true;
  const auto *parameter = llvm::dyn_cast_or_null<ParmVarDecl>(ast::variableOf(ast::strip(value)));
  return parameter && !parameter->getType()->isReferenceType() &&
         !mayModify(kernel->getBody(), parameter);
}

/// Whether \p other stores nothing to the element of \p store while threads may be at \p store: it
/// is another element of the array, or a barrier of the block lies between the two.
static bool isApart(kb::AccessOp store, kb::AccessOp other, bool hasBarrierBetween) {
  if (hasBarrierBetween && store.getSpace() == kb::MemorySpace::Shared)
    return true;
  const kb::ExprAttr at = store.getAddressAttr(), there = other.getAddressAttr();
  if (!at || !there || at.getLoops() != there.getLoops() || at.getSymbols() != there.getSymbols())
    return false;
  auto apart = mlir::dyn_cast<mlir::AffineConstantExpr>(mlir::simplifyAffineExpr(
      at.getExpr() - there.getExpr(), at.getMap().getNumDims(), at.getMap().getNumSymbols()));
  return apart && uint64_t(std::abs(apart.getValue())) >=
                      std::max<uint64_t>(store.getBytes(), other.getBytes());
}

/// A store, and the value as it is written; null where there is no assignment.
struct ValuedStore {
  kb::AccessOp access;
  const BinaryOperator *assignment;
  unsigned barriers; ///< of the block that stand before it
};

/// The stores of \p kernel, in the order of the text.
static std::vector<ValuedStore> storesOf(const PassContext &context, kb::KernelOp kernel) {
  std::vector<ValuedStore> stores;
  unsigned barriers = 0;
  kernel->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *each) {
    if (auto barrier = mlir::dyn_cast<kb::BarrierOp>(each))
      barriers += barrier.getScope() == kb::BarrierScope::Block;
    auto access = mlir::dyn_cast<kb::AccessOp>(each);
    if (!access || access.getKind() == kb::AccessKind::Load)
      return;
    const Expr *element = context.imported().exprOf(access);
    const FunctionDecl *function = context.imported().functionOf(access);
    const bool isStore =
        access.getKind() == kb::AccessKind::Store && element && function && function->getBody();
    stores.push_back(
        {access, isStore ? assignmentTo(function->getBody(), element) : nullptr, barriers});
  });
  return stores;
}

/// Whether every one of \p stores that may meet \p store has its value.
static bool allStoreTheSame(const PassContext &context, ValuedStore store,
                            llvm::ArrayRef<ValuedStore> stores) {
  auto textOf = [&](const ValuedStore &each) {
    return each.assignment ? context.text(each.assignment->getRHS()->getSourceRange())
                           : llvm::StringRef();
  };
  return llvm::all_of(stores, [&](ValuedStore other) {
    return other.access.getBase() != store.access.getBase() ||
           (!textOf(other).empty() && textOf(other) == textOf(store)) ||
           isApart(store.access, other.access, other.barriers != store.barriers);
  });
}

/// Where an `#include` goes: behind the last one of the main file.
static unsigned placeOfInclude(llvm::StringRef text) {
  unsigned place = 0, line = 0;
  while (line < text.size()) {
    const size_t end = std::min(text.find('\n', line), text.size() - 1) + 1;
    if (text.slice(line, end).ltrim().starts_with("#include"))
      place = end;
    line = end;
  }
  return place;
}

/// Gives \p finding the relaxed form of \p store, to \p space. An exchange would do as well, but it
/// reads what was there, which nothing may have written.
static void setRelaxedStore(const PassContext &context, const BinaryOperator *store,
                            kb::MemorySpace space, ProgramFinding &finding) {
  const QualType type = store->getLHS()->getType().getUnqualifiedType();
  const ASTContext &ast = context.parsed().context();
  const std::string element = context.text(store->getLHS()->getSourceRange()).str(),
                    value = context.text(store->getRHS()->getSourceRange()).str();
  if (!type->isScalarType() || element.empty() || value.empty())
    return;
  const std::string typeText = type.getAsString(ast.getPrintingPolicy());
  std::string text;
  if (ast.getTypeSizeInChars(type).getQuantity() < 4) {
    // Atomic references of small types load and compare the whole word around them, which may end
    // past the array. A volatile store is a relaxed one (PTX ISA, memory consistency model).
    text = "*const_cast<volatile " + typeText + " *>(&" + element + ") = " + value;
    finding.summary = "a volatile store, which is a relaxed one, is an access that may race";
  } else {
    constexpr llvm::StringLiteral header = "#include <cuda/atomic>\n";
    const llvm::StringRef program = context.parsed().text();
    if (!program.contains(header.rtrim()))
      finding.replacements.push_back({placeOfInclude(program), 0, header.str()});
    text = "cuda::atomic_ref<" + typeText + ", cuda::thread_scope_" +
           (space == kb::MemorySpace::Shared ? "block" : "device") + ">(" + element + ").store(" +
           value + ", cuda::memory_order_relaxed)";
    finding.summary = "a relaxed store is an access that may race";
  }
  finding.replacements.push_back({finding.begin, finding.end - finding.begin, text});
}

/// Whether several threads of a block store at \p access to one element.
static bool areSeveral(kb::AccessOp access, const LaunchValues &values) {
  return access.getKind() == kb::AccessKind::Store && !access.getIsVolatile() &&
         access.getSpace() != kb::MemorySpace::Local && threadsMeet(access) &&
         laneStride(access, values.block[0] == 1 ? 1 : 0, values).kind == StrideClass::Uniform;
}

void kbopt::addBenignRaces(const PassContext &context, const KernelView &kernel,
                           std::vector<ProgramFinding> &findings) {
  for (kb::KernelOp op : kernel.ops) {
    const LaunchValues values = LaunchValues::common(op);
    if (values.block[0] == 1 && values.block[1] == 1 && values.block[2] == 1)
      continue;
    const std::vector<ValuedStore> stores = storesOf(context, op);
    for (const ValuedStore &store : stores) {
      if (!store.assignment || !areSeveral(store.access, values) ||
          !isOneValue(context.imported().functionOf(store.access), store.assignment->getRHS(),
                      context.parsed().context()) ||
          !allStoreTheSame(context, store, stores))
        continue;
      std::optional<ProgramFinding> finding =
          findingAt(context, "benign-race", kernel, store.assignment->getSourceRange());
      if (!finding)
        continue;
      kb::AccessOp access = store.access;
      finding->message = "benign race: several threads store to one element of '" +
                         access.getBase().getName().str() + "', all of them the same value";
      const bool isCertain =
          values.block[0] && !(access.getDomain() && !access.getDomain()->getExact());
      finding->proof = isCertain ? FindingProof::Proven : FindingProof::Estimated;
      setRelaxedStore(context, store.assignment, access.getSpace(), *finding);
      findings.push_back(std::move(*finding));
    }
  }
}
