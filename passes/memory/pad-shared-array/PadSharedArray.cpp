//===- PadSharedArray.cpp - Spread a column over the banks -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   __shared__ float tile[32][32];   ==>   __shared__ float tile[32][32 + 1];
//
// Owns the proof that only elements are named, so that the layout is free, and
// that some access conflicts. It does not choose between padding and swizzling.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/TypeLoc.h"

using namespace kbopt;
using namespace clang;

namespace {

/// Shared memory that any chip gives without an opt-in (CUDA C++ Programming
/// Guide, "Compute Capabilities"): 48 KB.
constexpr int64_t staticSharedLimitBytes = 48 * 1024;
/// 32 banks of 4 bytes.
constexpr int64_t bankSpanBytes = 128;

bool isShared(const VarDecl *variable) { return variable->hasAttr<CUDASharedAttr>(); }

/// Number of array dimensions of \p type.
unsigned rank(const ASTContext &context, QualType type) {
  unsigned count = 0;
  for (const ArrayType *array = context.getAsArrayType(type); array;
       array = context.getAsArrayType(array->getElementType()))
    ++count;
  return count;
}

/// The innermost array type as written: `[32]` of `[8][32]`.
ArrayTypeLoc lastExtent(const VarDecl *variable) {
  TypeLoc type = variable->getTypeSourceInfo()->getTypeLoc().getUnqualifiedLoc();
  ArrayTypeLoc last;
  while (auto array = type.getAsAdjusted<ArrayTypeLoc>()) {
    last = array;
    type = array.getElementLoc().getUnqualifiedLoc();
  }
  return last;
}

/// Whether every use of \p variable below \p body subscripts all its
/// dimensions; \p elements receives those expressions.
bool onlyElements(const ASTContext &context, const Stmt *body, const VarDecl *variable,
                  std::vector<const ArraySubscriptExpr *> &elements) {
  unsigned dimensions = rank(context, variable->getType());
  unsigned uses = 0;
  for (const auto *reference : ast::findAll<DeclRefExpr>(body))
    uses += reference->getDecl() == variable;
  for (const auto *subscript : ast::findAll<ArraySubscriptExpr>(body)) {
    const Expr *base = subscript;
    unsigned depth = 0;
    while (const auto *each = dyn_cast<ArraySubscriptExpr>(ast::strip(base))) {
      base = each->getBase();
      ++depth;
    }
    if (depth == dimensions && ast::variableOf(base) == variable)
      elements.push_back(subscript);
  }
  // An element whose address is taken could be walked past its row.
  for (const auto *unary : ast::findAll<UnaryOperator>(body))
    if (unary->getOpcode() == UO_AddrOf && ast::mentions(unary->getSubExpr(), variable) &&
        isa<ArraySubscriptExpr>(ast::strip(unary->getSubExpr())))
      return false;
  for (const auto *size : ast::findAll<UnaryExprOrTypeTraitExpr>(body))
    if (!size->isArgumentType() && ast::mentions(size->getArgumentExpr(), variable))
      return false;
  return elements.size() == uses;
}

/// Whether \p element may be a walk through the whole array, as in tile[0][i] with i
/// beyond the row: the other indices are constants, and the last is not known to
/// lie within \p extent.
bool mayLeaveRow(const PassContext &context, const KernelView &kernel,
                 const ArraySubscriptExpr *element, int64_t extent) {
  const ASTContext &ast = context.parsed().context();
  const auto *outer = dyn_cast<ArraySubscriptExpr>(ast::strip(element->getBase()));
  for (; outer; outer = dyn_cast<ArraySubscriptExpr>(ast::strip(outer->getBase())))
    if (!ast::constantOf(outer->getIdx(), ast))
      return false;
  const Expr *index = ast::resolve(element->getIdx(), kernel.function());
  if (std::optional<int64_t> value = ast::constantOf(index, ast))
    return *value < 0 || *value >= extent;
  std::optional<ast::GridRef> ref = ast::gridRefOf(index);
  if (!ref || ref->builtin != GridBuiltin::ThreadIdx)
    return true;
  return llvm::any_of(kernel.ops, [&](kb::KernelOp op) {
    std::optional<int64_t> threads = LaunchValues::common(op).block[ref->dimension];
    return !threads || *threads > extent;
  });
}

/// What is known of the conflicts of an array, the strongest last.
enum class Conflicts { Unknown, None, Stay, Mended };

/// Whether some access by one of \p elements conflicts, and whether \p pad more elements in a row
/// of
/// \p shared mend it.
Conflicts conflictsOf(const PassContext &context,
                      llvm::ArrayRef<const ArraySubscriptExpr *> elements, kb::SharedOp shared,
                      int64_t pad) {
  bool known = false, stays = false;
  const int64_t bytes = shared.getElementBytes(), row = bytes * shared.getExtents().back();
  for (const ArraySubscriptExpr *element : elements)
    for (kb::AccessOp access : context.imported().accessesOf(element)) {
      auto owner = access->getParentOfType<kb::KernelOp>();
      if (owner != shared->getParentOfType<kb::KernelOp>())
        continue;
      LaunchValues values = LaunchValues::common(owner);
      if (std::optional<RequestCost> cost = activeRequestCost(access, values)) {
        known = true;
        if (cost->wavefronts <= cost->idealWavefronts)
          continue;
        auto padded = paddedRequestCost(access, values, row, pad * bytes);
        if (padded && padded->wavefronts < cost->wavefronts)
          return Conflicts::Mended;
        stays = true;
        continue;
      }
      LaneStride stride = laneStride(access, 0, values);
      known |= stride.kind != StrideClass::Unknown && stride.kind != StrideClass::Symbolic;
      if (stride.kind == StrideClass::Constant && stride.bytes % bankSpanBytes == 0)
        return Conflicts::Mended;
    }
  return stays ? Conflicts::Stay : known ? Conflicts::None : Conflicts::Unknown;
}

class PadSharedArray : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override {
    std::vector<Site> sites;
    for (const auto *statement : ast::findAll<DeclStmt>(kernel.function()->getBody()))
      for (const Decl *declaration : statement->decls())
        if (const auto *variable = dyn_cast<VarDecl>(declaration); variable && isShared(variable))
          sites.push_back(ast::siteOf(kernel, variable));
    return sites;
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    const auto *variable = site.as<VarDecl>();
    const ASTContext &ast = context.parsed().context();
    std::string name = "'" + variable->getNameAsString() + "'";
    if (variable->hasExternalStorage())
      return Decision::doesNotApply(name + " gets its size from the launch");
    if (rank(ast, variable->getType()) < 2)
      return Decision::doesNotApply(name + " has fewer than two dimensions");
    ArrayTypeLoc extent = lastExtent(variable);
    if (extent.isNull() || !extent.getSizeExpr())
      return Decision::doesNotApply("the last extent of " + name +
                                    " is not written in its declaration");
    std::vector<const ArraySubscriptExpr *> elements;
    if (!onlyElements(ast, site.kernel->function()->getBody(), variable, elements))
      return Decision::doesNotApply(name + " is also used as a pointer, so its layout may matter");
    for (kb::KernelOp kernel : site.kernel->ops) {
      int64_t total = 0;
      for (auto shared : kernel.getBody().getOps<kb::SharedOp>()) {
        if (shared.getName() == variable->getName() && !shared.getExtents().empty())
          for (const ArraySubscriptExpr *element : elements)
            if (mayLeaveRow(context, *site.kernel, element, shared.getExtents().back()))
              return Decision::doesNotApply("'" + context.text(element->getSourceRange()) +
                                            "' may lie beyond its row");
        int64_t bytes = shared.getElementBytes(), rows = 1;
        for (int64_t each : shared.getExtents().drop_back(shared.getExtents().empty() ? 0 : 1))
          rows *= each;
        for (int64_t each : shared.getExtents())
          bytes *= each;
        total += bytes;
        if (shared.getName() == variable->getName())
          total += rows * options.integer("pad") * int64_t(shared.getElementBytes());
      }
      if (total > staticSharedLimitBytes)
        return Decision::doesNotApply("the kernel would need " + llvm::Twine(total) +
                                      " bytes of shared memory, more than 48 KB");
    }
    Conflicts conflicts = Conflicts::Unknown;
    for (kb::KernelOp kernel : site.kernel->ops)
      for (auto shared : kernel.getBody().getOps<kb::SharedOp>())
        if (shared.getName() == variable->getName() && !shared.getExtents().empty())
          conflicts =
              std::max(conflicts, conflictsOf(context, elements, shared, options.integer("pad")));
    switch (conflicts) {
    case Conflicts::Mended:
      return Decision::applies();
    case Conflicts::Stay:
      return Decision::doesNotApply("accesses to " + name + " conflict with " +
                                    llvm::Twine(options.integer("pad")) + " more in a row as well");
    case Conflicts::None:
      return Decision::doesNotApply("no access to " + name + " conflicts");
    case Conflicts::Unknown:
      return Decision::doesNotApply("it is not known whether accesses to " + name + " conflict");
    }
    llvm_unreachable("all four are handled");
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const auto *variable = site.as<VarDecl>();
    ArrayTypeLoc extent = lastExtent(variable);
    // As written: the extent may be a macro.
    AnchorOrReason anchor = anchorOfRange(context.parsed(), extent.getBracketsRange(),
                                          site.kernel->function(), "ArrayExtent");
    if (!anchor)
      return decline(anchor.reason());
    llvm::StringRef written =
        context.parsed().text().slice(anchor->begin + 1, anchor->end - 1).trim();
    bool simple = llvm::all_of(written, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    std::string pad = std::to_string(options.integer("pad"));
    std::string extended = simple ? "[" + written.str() + " + " + pad + "]"
                                  : "[(" + written.str() + ") + " + pad + "]";
    Rewrite rewrite;
    rewrite.summary = "padded the rows of '" + variable->getNameAsString() + "' by " + pad +
                      (pad == "1" ? " element" : " elements");
    if (llvm::Error error = rewrite.edits.replaceAll(*anchor, extended))
      return std::move(error);
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createPadSharedArray() { return std::make_unique<PadSharedArray>(); }
} // namespace kbopt
