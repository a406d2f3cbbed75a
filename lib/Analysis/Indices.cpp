//===- Indices.cpp - Uses of thread and block indices, and guards ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the source does with threadIdx and its relatives.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Analysis/Poly.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kbopt {
namespace {

/// `threadIdx.x` in a body, and the functions that the body calls.
class GridVisitor : public clang::DynamicRecursiveASTVisitor {
public:
  GridVisitor(std::vector<GridUse> &uses, std::vector<const clang::FunctionDecl *> &callees,
              const clang::FunctionDecl *function)
      : uses(uses), callees(callees), function(function) {
    ShouldVisitTemplateInstantiations = true;
  }

  bool TraversePseudoObjectExpr(clang::PseudoObjectExpr *expr) override {
    if (auto *property =
            dyn_cast<clang::MSPropertyRefExpr>(expr->getSyntacticForm()->IgnoreParens()))
      note(expr, property->getBaseExpr(), property->getPropertyDecl()->getName());
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr *member) override {
    // Conversions and operators have no name; `uint3 t = threadIdx` is one.
    if (const clang::IdentifierInfo *name = member->getMemberDecl()->getIdentifier())
      note(member, member->getBase(), name->getName());
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr *use) override {
    // dim3 copies of a whole index.
    if (!inMember.count(use) && isBuiltin(use))
      for (unsigned c = 0; c < 3; ++c)
        uses.push_back({*builtin(use), c, use, function});
    return true;
  }
  bool VisitCallExpr(clang::CallExpr *call) override {
    if (const clang::FunctionDecl *callee = call->getDirectCallee())
      callees.push_back(callee);
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr *construct) override {
    callees.push_back(construct->getConstructor());
    return true;
  }

private:
  /// The variable below casts and the opaque value of a property's base.
  static const clang::Expr *strip(const clang::Expr *expr) {
    expr = expr->IgnoreParenImpCasts();
    auto *opaque = dyn_cast<clang::OpaqueValueExpr>(expr);
    return opaque && opaque->getSourceExpr() ? strip(opaque->getSourceExpr()) : expr;
  }
  static std::optional<GridBuiltin> builtin(const clang::Expr *expr) {
    auto *ref = dyn_cast<clang::DeclRefExpr>(strip(expr));
    if (!ref || !ref->getDecl()->getDeclName().isIdentifier())
      return std::nullopt;
    return llvm::StringSwitch<std::optional<GridBuiltin>>(ref->getDecl()->getName())
        .Case("threadIdx", GridBuiltin::ThreadIdx)
        .Case("blockIdx", GridBuiltin::BlockIdx)
        .Case("blockDim", GridBuiltin::BlockDim)
        .Case("gridDim", GridBuiltin::GridDim)
        .Default(std::nullopt);
  }
  static bool isBuiltin(const clang::Expr *expr) { return builtin(expr).has_value(); }

  void note(const clang::Expr *whole, const clang::Expr *base, llvm::StringRef component) {
    auto which = builtin(base);
    if (!which || component.size() != 1 || component[0] < 'x' || component[0] > 'z')
      return;
    inMember.insert(strip(base));
    uses.push_back({*which, unsigned(component[0] - 'x'), whole, function});
  }

  std::vector<GridUse> &uses;
  std::vector<const clang::FunctionDecl *> &callees;
  const clang::FunctionDecl *function;
  llvm::DenseSet<const clang::Expr *> inMember;
};

} // namespace

std::vector<GridUse> gridUses(const ImportedProgram &program, kb::KernelOp kernel) {
  const clang::SourceManager &sources = program.source().sources();
  std::vector<GridUse> uses;
  std::vector<const clang::FunctionDecl *> work = {program.declOf(kernel)};
  llvm::DenseSet<const clang::FunctionDecl *> seen;
  while (!work.empty()) {
    const clang::FunctionDecl *definition = nullptr, *function = work.back();
    work.pop_back();
    if (!function->hasBody(definition) || sources.isInSystemHeader(definition->getLocation()) ||
        !seen.insert(definition).second)
      continue;
    GridVisitor(uses, work, definition).TraverseStmt(definition->getBody());
  }
  // No two uses begin at the same place.
  llvm::sort(uses, [&](const GridUse &a, const GridUse &b) {
    return sources.isBeforeInTranslationUnit(a.expr->getBeginLoc(), b.expr->getBeginLoc());
  });
  return uses;
}

/// \p expr over dimensions as variables 0… and symbols as 1000…; divisions become
/// variables of their own. Nothing if a division depends on \p barred.
static std::optional<analysis::Poly> polynomial(AffineExpr expr, llvm::ArrayRef<unsigned> barred,
                                                std::map<const void *, unsigned> &divisions) {
  using analysis::Poly;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Poly::constant(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return Poly::variable(dim.getPosition());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return Poly::variable(1000 + symbol.getPosition());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto left = polynomial(binary.getLHS(), barred, divisions);
  auto right = polynomial(binary.getRHS(), barred, divisions);
  if (!left || !right)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return *left + *right;
  if (expr.getKind() == AffineExprKind::Mul)
    return *left * *right;
  for (unsigned var : barred)
    if (left->contains(var) || right->contains(var))
      return std::nullopt;
  auto [it, isNew] = divisions.try_emplace(expr.getAsOpaquePointer(), 2000 + divisions.size());
  return Poly::variable(it->second);
}

/// Whether \p expr is a function of blockIdx.c * blockDim.c + threadIdx.c: with
/// the block's share moved into the thread index, neither block index nor size
/// is left.
static bool usesGlobalIndexOnly(AffineExpr expr) {
  MLIRContext *context = expr.getContext();
  for (unsigned c = 0; c < 3; ++c) {
    AffineExpr tid = getAffineDimExpr(kb::tidDim + c, context);
    AffineExpr bid = getAffineDimExpr(kb::bidDim + c, context);
    AffineExpr bdim = getAffineSymbolExpr(kb::bdimSymbol + c, context);
    unsigned barred[] = {kb::bidDim + c, 1000 + kb::bdimSymbol + c};
    std::map<const void *, unsigned> divisions;
    auto moved = polynomial(expr.replace(tid, tid - bid * bdim), barred, divisions);
    if (!moved || moved->contains(barred[0]) || moved->contains(barred[1]))
      return false;
  }
  return true;
}

/// Cooperative groups read the indices inside the toolkit's headers.
static bool usesCooperativeGroups(const ImportedProgram &program, kb::KernelOp kernel) {
  struct Finder : clang::DynamicRecursiveASTVisitor {
    Finder() { ShouldVisitImplicitCode = true; }
    bool note(const clang::FunctionDecl *callee) {
      if (!callee)
        return true;
      found |=
          llvm::StringRef(callee->getQualifiedNameAsString()).starts_with("cooperative_groups");
      work.push_back(callee);
      return true;
    }
    bool VisitCallExpr(clang::CallExpr *call) override { return note(call->getDirectCallee()); }
    bool VisitCXXConstructExpr(clang::CXXConstructExpr *construct) override {
      return note(construct->getConstructor());
    }
    std::vector<const clang::FunctionDecl *> work;
    bool found = false;
  } finder;
  finder.work = {program.declOf(kernel)};
  llvm::DenseSet<const clang::FunctionDecl *> seen;
  while (!finder.work.empty() && !finder.found) {
    const clang::FunctionDecl *definition = nullptr, *function = finder.work.back();
    finder.work.pop_back();
    if (function->hasBody(definition) && seen.insert(definition).second &&
        !program.source().sources().isInSystemHeader(definition->getLocation()))
      finder.TraverseStmt(definition->getBody());
  }
  return finder.found;
}

static llvm::StringRef builtinName(GridBuiltin builtin) {
  static constexpr llvm::StringLiteral names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
  return names[static_cast<unsigned>(builtin)];
}

Answer isBlockSizeFree(const ImportedProgram &program, kb::KernelOp kernel) {
  Answer result = Answer::yes();
  auto fail = [&](Answer answer) {
    result = std::move(answer);
    return WalkResult::interrupt();
  };
  kernel.walk([&](Operation *op) {
    if (isa<kb::SharedOp>(op))
      return fail(Answer::no("shared array '" + cast<kb::SharedOp>(op).getName().str() +
                             "' ties the kernel to its block size"));
    if (auto barrier = dyn_cast<kb::BarrierOp>(op);
        barrier && barrier.getScope() != kb::BarrierScope::Fence)
      return fail(Answer::no("the threads of a block synchronise"));
    if (isa<kb::ShuffleOp, kb::MmaOp>(op))
      return fail(Answer::no("the threads of a warp work together"));
    if (isa<kb::OpaqueOp>(op))
      return fail(Answer::dontKnow("the kernel contains code that is not understood"));
    if (auto access = dyn_cast<kb::AccessOp>(op)) {
      std::string name = "'" + access.getBase().getName().str() + "'";
      kb::ExprAttr address = access.getAddressAttr();
      if (!address && access.getUniformity() != kb::Uniformity::Uniform)
        return WalkResult::advance(); // decided by the uses of the indices below
      if (address && !usesGlobalIndexOnly(address.getExpr()))
        return fail(Answer::no("the address in " + name +
                               " depends on the place of a thread in its block"));
    }
    return WalkResult::advance();
  });
  if (!result.proven())
    return result;
  if (usesCooperativeGroups(program, kernel))
    return Answer::no("it uses cooperative groups");
  // Every use in the text must be part of blockIdx.c * blockDim.c + threadIdx.c.
  std::vector<GridUse> uses = gridUses(program, kernel);
  auto is = [&](const clang::Expr *expr, GridBuiltin builtin, unsigned c) {
    expr = expr->IgnoreParenCasts();
    return llvm::any_of(uses, [&](const GridUse &use) {
      return use.builtin == builtin && use.dimension == c &&
             use.expr->getSourceRange() == expr->getSourceRange();
    });
  };
  // Marks the three uses inside an index expression as accounted for.
  struct IndexFinder : clang::DynamicRecursiveASTVisitor {
    llvm::function_ref<bool(const clang::Expr *, GridBuiltin, unsigned)> is;
    llvm::DenseSet<unsigned> accounted; ///< raw begin locations
    bool product(const clang::Expr *expr, unsigned c) {
      auto *op = dyn_cast<clang::BinaryOperator>(expr->IgnoreParenCasts());
      if (!op || op->getOpcode() != clang::BO_Mul)
        return false;
      for (bool swap : {false, true}) {
        const clang::Expr *a = swap ? op->getRHS() : op->getLHS(),
                          *b = swap ? op->getLHS() : op->getRHS();
        if (is(a, GridBuiltin::BlockIdx, c) && is(b, GridBuiltin::BlockDim, c) && !isMarked(a)) {
          mark(a);
          mark(b);
          return true;
        }
      }
      return false;
    }
    static void collectTerms(const clang::Expr *expr,
                             llvm::SmallVectorImpl<const clang::Expr *> &terms) {
      auto *op = dyn_cast<clang::BinaryOperator>(expr->IgnoreParenCasts());
      if (!op || op->getOpcode() != clang::BO_Add) {
        terms.push_back(expr);
        return;
      }
      collectTerms(op->getLHS(), terms);
      collectTerms(op->getRHS(), terms);
    }
    bool isMarked(const clang::Expr *expr) const {
      return accounted.count(expr->IgnoreParenCasts()->getBeginLoc().getRawEncoding());
    }
    void mark(const clang::Expr *expr) {
      accounted.insert(expr->IgnoreParenCasts()->getBeginLoc().getRawEncoding());
    }
    bool VisitBinaryOperator(clang::BinaryOperator *op) override {
      if (op->getOpcode() != clang::BO_Add && op->getOpcode() != clang::BO_Mul)
        return true;
      for (unsigned c = 0; c < 3; ++c) {
        // The number of threads in the grid does not change either.
        if (op->getOpcode() == clang::BO_Mul) {
          for (bool swap : {false, true}) {
            const clang::Expr *a = swap ? op->getRHS() : op->getLHS(),
                              *b = swap ? op->getLHS() : op->getRHS();
            if (is(a, GridBuiltin::GridDim, c) && is(b, GridBuiltin::BlockDim, c)) {
              mark(a);
              mark(b);
            }
          }
          continue;
        }
        // The thread and its block's share may stand anywhere in the sum, as in 1 + block + thread.
        llvm::SmallVector<const clang::Expr *> terms;
        collectTerms(op, terms);
        auto thread = llvm::find_if(
            terms, [&](const clang::Expr *term) { return is(term, GridBuiltin::ThreadIdx, c); });
        if (thread != terms.end() &&
            llvm::any_of(terms, [&](const clang::Expr *term) { return product(term, c); }))
          mark(*thread);
      }
      return true;
    }
  } finder;
  auto isRef = [&](const clang::Expr *expr, GridBuiltin builtin, unsigned c) {
    return is(expr, builtin, c);
  };
  finder.is = isRef;
  llvm::DenseSet<const clang::FunctionDecl *> seen;
  for (const GridUse &use : uses)
    if (seen.insert(use.function).second)
      finder.TraverseStmt(use.function->getBody());
  for (const GridUse &use : uses)
    if (!finder.accounted.count(use.expr->getBeginLoc().getRawEncoding()))
      return Answer::no("'" + builtinName(use.builtin).str() + "." + "xyz"[use.dimension] +
                        "' is used outside of blockIdx * blockDim + threadIdx");
  return result;
}

namespace {

/// `return;`, alone or in braces.
bool isReturn(const clang::Stmt *statement) {
  if (auto *block = dyn_cast_or_null<clang::CompoundStmt>(statement))
    return block->size() == 1 && isReturn(block->body_front());
  auto *leave = dyn_cast_or_null<clang::ReturnStmt>(statement);
  return leave && !leave->getRetValue();
}

} // namespace

std::vector<Guard> findGuards(const ImportedProgram &program, kb::KernelOp kernel) {
  std::vector<Guard> guards;
  const auto *body = dyn_cast_or_null<clang::CompoundStmt>(program.declOf(kernel)->getBody());
  while (body) {
    const clang::CompoundStmt *inner = nullptr;
    for (auto [position, statement] : llvm::enumerate(body->body())) {
      auto *branch = dyn_cast<clang::IfStmt>(statement);
      if (!branch || branch->getElse() || branch->isConstexpr())
        continue;
      if (isReturn(branch->getThen())) {
        guards.push_back({branch->getCond(), branch, true});
      } else if (position + 1 == body->size()) {
        // Everything that follows is under the condition.
        guards.push_back({branch->getCond(), branch, false});
        inner = dyn_cast<clang::CompoundStmt>(branch->getThen());
      }
    }
    body = inner;
  }
  return guards;
}

std::vector<std::string> domainText(kb::AccessOp access) {
  std::vector<std::string> result;
  kb::DomainAttr domain = access.getDomainAttr();
  if (!domain || domain.isUnknown())
    return result;
  for (unsigned i = 0; i < domain.getSet().getNumConstraints(); ++i) {
    auto map = AffineMap::get(domain.getSet().getNumDims(), domain.getSet().getNumSymbols(),
                              domain.getSet().getConstraint(i));
    auto expr = kb::ExprAttr::get(access.getContext(), domain.getLoops(), domain.getSymbols(), map);
    result.push_back(expr.str() + (domain.getSet().isEq(i) ? " == 0" : " >= 0"));
  }
  return result;
}

} // namespace kbopt
