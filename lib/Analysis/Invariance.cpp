//===- Invariance.cpp - What stays the same while a loop runs ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns aliasing of bases, stability of loads, invariance of expressions and
// independence of threads.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Legality.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"

using namespace mlir;

namespace kbopt {

static std::string quoted(llvm::StringRef name) { return "'" + name.str() + "'"; }

/// Calls that read and write nothing the program can see.
static bool isHarmlessCall(kb::CallOp call) {
  llvm::StringRef callee = call.getCallee();
  return callee == "vprintf" || callee == "__assertfail" || callee == "__assert_fail" ||
         callee.starts_with("llvm.");
}

Answer basesMayAlias(const ImportedProgram &program, kb::AccessOp first, kb::AccessOp second) {
  kb::BaseAttr a = first.getBase(), b = second.getBase();
  std::string names = quoted(a.getName()) + " and " + quoted(b.getName());
  using Kind = kb::BaseKind;
  using Space = kb::MemorySpace;
  Space spaceA = first.getSpace(), spaceB = second.getSpace();
  if (spaceA != Space::Generic && spaceB != Space::Generic && spaceA != spaceB)
    return Answer::no(names + " lie in different memory spaces");
  auto opaque = [](Kind kind) { return kind == Kind::Loaded || kind == Kind::Unknown; };
  if (opaque(a.getKind()) || opaque(b.getKind()))
    return Answer::dontKnow("where " + quoted(opaque(a.getKind()) ? a.getName() : b.getName()) +
                            " points is not known");
  if (a == b)
    return Answer::yes(names + " are the same memory");
  if (a.getKind() != b.getKind()) {
    if (a.getKind() == Kind::Local || b.getKind() == Kind::Local)
      return Answer::no(names + " lie in different memory");
    return Answer::dontKnow("the host may pass the address of a device variable");
  }
  if (a.getKind() != Kind::Argument)
    return Answer::no(names + " are different variables");
  auto kernel = first->getParentOfType<kb::KernelOp>();
  auto isRestrict = [&](kb::BaseAttr base) {
    return base.getByteOffset() == 0 &&
           cast<kb::ParamAttr>(kernel.getParams()[base.getArgument()]).getIsRestrict();
  };
  bool writes = first.getKind() != kb::AccessKind::Load || second.getKind() != kb::AccessKind::Load;
  if (writes && (isRestrict(a) || isRestrict(b)))
    return Answer::no(names + " are kept apart by __restrict__");
  auto isWhole = [&](kb::BaseAttr base) {
    return cast<kb::ParamAttr>(kernel.getParams()[base.getArgument()]).getIsPointer();
  };
  if (!isWhole(a) || !isWhole(b))
    return Answer::dontKnow("what the fields of a struct argument point to is not known");
  return argumentsMayOverlap(program, kernel, a.getArgument(), b.getArgument());
}

Answer isLoadStable(const ImportedProgram &program, kb::AccessOp load, kb::LoopOp loop) {
  Answer result = Answer::yes();
  std::string name = quoted(load.getBase().getName());
  if (load.getIsVolatile() || load.getKind() != kb::AccessKind::Load)
    return Answer::no(name + " is volatile or updated atomically");
  if (load.getSpace() == kb::MemorySpace::Constant || load.getSpace() == kb::MemorySpace::Param)
    return result;
  // Threads that wait for each other may store elsewhere in the kernel meanwhile.
  bool waits = false;
  loop->walk([&](Operation *op) {
    auto access = dyn_cast<kb::AccessOp>(op);
    waits |= isa<kb::BarrierOp, kb::ShuffleOp>(op) ||
             (access && access.getKind() == kb::AccessKind::Atomic);
  });
  Operation *scope =
      waits ? loop->getParentOfType<kb::KernelOp>().getOperation() : loop.getOperation();
  scope->walk([&](Operation *op) {
    if (isa<kb::OpaqueOp>(op) || (isa<kb::CallOp>(op) && !isHarmlessCall(cast<kb::CallOp>(op)))) {
      result = Answer::dontKnow("the loop contains code that is not understood");
      return WalkResult::interrupt();
    }
    auto store = dyn_cast<kb::AccessOp>(op);
    if (!store || store.getKind() == kb::AccessKind::Load)
      return WalkResult::advance();
    if (basesMayAlias(program, load, store).refuted())
      return WalkResult::advance();
    bool sameBase = load.getBase() == store.getBase() &&
                    load.getBase().getKind() != kb::BaseKind::Loaded &&
                    load.getBase().getKind() != kb::BaseKind::Unknown;
    std::string doubt;
    if (sameBase) {
      Answer overlap = sameThreadMayOverlap(load, store, /*acrossIterations=*/true);
      if (overlap.refuted())
        overlap = threadsMayOverlap(load, store);
      if (overlap.refuted())
        return WalkResult::advance();
      if (!unprovenAssumption(load).empty() || !unprovenAssumption(store).empty())
        doubt = "; " + overlap.reason;
    }
    result =
        Answer::dontKnow(std::string(waits ? "the kernel" : "the loop") + " stores to " +
                         quoted(store.getBase().getName()) + ", which may change " + name + doubt);
    return WalkResult::interrupt();
  });
  return result;
}

namespace {

/// Looks for what ties an expression to an iteration.
class InvarianceVisitor : public clang::DynamicRecursiveASTVisitor {
public:
  InvarianceVisitor(const ImportedProgram &program, const clang::Stmt *loop)
      : program(program), loop(loop), loopOps(program.loopsOf(loop)) {}

  // threadIdx.x and its like never change.
  bool TraversePseudoObjectExpr(clang::PseudoObjectExpr *) override { return true; }

  bool VisitDeclRefExpr(clang::DeclRefExpr *use) override {
    auto *variable = dyn_cast<clang::VarDecl>(use->getDecl());
    if (!variable)
      return true;
    std::string name = quoted(variable->getName());
    if (variable->getType().isVolatileQualified())
      return refuse(Answer::no(name + " is volatile"));
    const clang::SourceManager &sources = program.source().sources();
    clang::SourceRange range = loop->getSourceRange();
    if (variable->isLocalVarDecl() && !variable->hasAttr<clang::CUDASharedAttr>() &&
        !sources.isBeforeInTranslationUnit(variable->getLocation(), range.getBegin()) &&
        !sources.isBeforeInTranslationUnit(range.getEnd(), variable->getLocation()))
      return refuse(Answer::no(name + " is declared in the loop"));
    if (variable->getType()->isReferenceType())
      return refuse(Answer::dontKnow(name + " is a reference"));
    if (variable->hasGlobalStorage() && !variable->getType().isConstQualified() &&
        !variable->getType()->isArrayType() && !variable->hasAttr<clang::CUDAConstantAttr>())
      return refuse(Answer::dontKnow(name + " is a variable of the whole device or block"));
    if (!variable->hasGlobalStorage() && mayModify(loop, variable))
      return refuse(Answer::no("the loop changes " + name));
    return true;
  }
  bool VisitArraySubscriptExpr(clang::ArraySubscriptExpr *expr) override { return checkLoad(expr); }
  bool VisitMemberExpr(clang::MemberExpr *expr) override {
    return expr->isArrow() ? checkLoad(expr) : true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator *op) override {
    if (op->isIncrementDecrementOp())
      return refuse(Answer::no("it has side effects"));
    return op->getOpcode() == clang::UO_Deref ? checkLoad(op) : true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator *op) override {
    return op->isAssignmentOp() ? refuse(Answer::no("it has side effects")) : true;
  }
  bool VisitCallExpr(clang::CallExpr *call) override {
    // A call with pure arguments is speculatable if its callee is known to be.
    const clang::FunctionDecl *callee = call->getDirectCallee();
    llvm::StringRef name = callee && callee->getDeclName().isIdentifier() ? callee->getName() : "";
    if (name == "__ldg")
      return true;
    if (callee && isKnownFunction(call))
      return true;
    return refuse(
        Answer::dontKnow(name.empty() ? "it makes a call"
                                      : "what the call of " + quoted(name) + " does is not known"));
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr *construct) override {
    return construct->getConstructor()->isTrivial()
               ? true
               : refuse(Answer::dontKnow("it constructs an object"));
  }
  bool VisitLambdaExpr(clang::LambdaExpr *) override {
    return refuse(Answer::dontKnow("it makes a lambda"));
  }

  Answer result = Answer::yes();

private:
  bool refuse(Answer answer) {
    result = std::move(answer);
    return false;
  }

  /// Whether only the callee, arguments aside, keeps \p call from being
  /// speculated.
  bool isKnownFunction(clang::CallExpr *call) {
    if (isSpeculatable(call))
      return true;
    for (clang::Expr *argument : call->arguments())
      if (!isSpeculatable(argument))
        return isMathName(call->getDirectCallee());
    return false;
  }
  static bool isMathName(const clang::FunctionDecl *callee) {
    if (!callee->getDeclName().isIdentifier() ||
        !callee->getASTContext().getSourceManager().isInSystemHeader(callee->getLocation()) ||
        !callee->getReturnType()->isArithmeticType())
      return false;
    llvm::StringRef name = callee->getName();
    for (const clang::ParmVarDecl *parameter : callee->parameters())
      if (!parameter->getType()->isArithmeticType())
        return false;
    return !name.starts_with("atomic") && !name.contains("sync") && !name.starts_with("__shfl") &&
           !name.starts_with("clock") && !name.contains("timer") && !name.contains("rand") &&
           !name.contains("vote") && !name.contains("ballot") && !name.contains("activemask") &&
           !name.starts_with("__any") && !name.starts_with("__all") && !name.contains("match") &&
           !name.contains("reduce") && !name.contains("fence");
  }

  bool checkLoad(clang::Expr *expr) {
    // A local array lives in registers or local memory.
    const clang::Expr *base = expr;
    while (auto *subscript = dyn_cast<clang::ArraySubscriptExpr>(base))
      base = subscript->getBase()->IgnoreParenImpCasts();
    if (auto *ref = dyn_cast<clang::DeclRefExpr>(base))
      if (auto *variable = dyn_cast<clang::VarDecl>(ref->getDecl());
          variable && variable->getType()->isArrayType() && !variable->hasGlobalStorage())
        return true; // VisitDeclRefExpr asks whether the loop changes it
    if (loopOps.empty())
      return refuse(Answer::dontKnow("the loop is not in the IR"));
    bool found = false;
    for (kb::AccessOp access : program.accessesOf(expr)) {
      found = true;
      for (kb::LoopOp op : loopOps) {
        if (!op->isAncestor(access))
          continue;
        Answer stable = isLoadStable(program, access, op);
        if (!stable.proven())
          return refuse(stable);
      }
    }
    // An inner part such as a[i] in a[i][j] is no load of its own.
    if (!found && !isa<clang::ArrayType>(expr->getType().getTypePtr()) &&
        !expr->getType()->isArrayType())
      return refuse(Answer::dontKnow("a load in it is not in the IR"));
    return true;
  }

  const ImportedProgram &program;
  const clang::Stmt *loop;
  SmallVector<kb::LoopOp> loopOps;
};

} // namespace

Answer isLoopInvariant(const ImportedProgram &program, const clang::Expr *expr,
                       const clang::Stmt *loop) {
  InvarianceVisitor visitor(program, loop);
  visitor.TraverseStmt(const_cast<clang::Expr *>(expr));
  return visitor.result;
}

Answer hasIndependentThreads(const ImportedProgram &program, kb::KernelOp kernel) {
  SmallVector<kb::AccessOp> accesses;
  Answer result = Answer::yes();
  kernel.walk([&](Operation *op) {
    if (auto access = dyn_cast<kb::AccessOp>(op)) {
      if (access.getSpace() != kb::MemorySpace::Local &&
          access.getSpace() != kb::MemorySpace::Param &&
          access.getSpace() != kb::MemorySpace::Constant)
        accesses.push_back(access);
    } else if (isa<kb::OpaqueOp>(op) ||
               (isa<kb::CallOp>(op) && !isHarmlessCall(cast<kb::CallOp>(op)))) {
      result = Answer::dontKnow("the kernel contains code that is not understood");
    } else if (isa<kb::ShuffleOp, kb::MmaOp>(op)) {
      result = Answer::no("threads exchange values within a warp");
    }
  });
  if (!result.proven())
    return result;
  for (auto [i, first] : llvm::enumerate(accesses))
    for (size_t j = i; j < accesses.size(); ++j) {
      kb::AccessOp second = accesses[j];
      auto kind = [](kb::AccessOp access) { return access.getKind(); };
      bool loads = kind(first) == kb::AccessKind::Load && kind(second) == kb::AccessKind::Load;
      bool atomics =
          kind(first) == kb::AccessKind::Atomic && kind(second) == kb::AccessKind::Atomic;
      if (loads || atomics || basesMayAlias(program, first, second).refuted())
        continue;
      if (first.getBase() != second.getBase())
        return Answer::dontKnow(quoted(first.getBase().getName()) + " and " +
                                quoted(second.getBase().getName()) + " may overlap");
      Answer overlap = threadsMayOverlap(first, second);
      if (!overlap.refuted())
        return overlap.proven()
                   ? Answer::no("threads share elements of " + quoted(first.getBase().getName()))
                   : Answer::dontKnow("threads may share elements of " +
                                      quoted(first.getBase().getName()));
    }
  return result;
}

} // namespace kbopt
