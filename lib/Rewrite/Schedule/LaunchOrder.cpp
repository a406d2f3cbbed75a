//===- LaunchOrder.cpp - Launches that follow each other --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LaunchOrder.h"
#include "LaunchText.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Dispatch.h"
#include "clang/AST/ParentMapContext.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

/// Whether \p branch launches a kernel that is named for the one that \p original launches, as
/// generated kernels are.
static bool launchesNamedFor(const Stmt *branch, const CallExpr *original) {
  const auto nameOf = [](const CallExpr *launch) {
    const auto *named = dyn_cast_or_null<NamedDecl>(launch->getCalleeDecl());
    return named && named->getIdentifier() ? named->getName() : StringRef();
  };
  StringRef name = nameOf(original);
  return llvm::any_of(ast::findAll<CUDAKernelCallExpr>(branch),
                      [&](const CUDAKernelCallExpr *each) {
                        StringRef other = nameOf(each);
                        return name.empty() || other.empty() || isDerivedName(other, name);
                      });
}

bool kbopt::isFallbackLaunch(const PassContext &context, const CallExpr *launch) {
  const Stmt *call = launch;
  bool isRepeated = false;
  for (;;) {
    const Stmt *outer = nullptr;
    for (const DynTypedNode &parent :
         context.parsed().context().getParentMapContext().getParents(*call))
      outer = outer ? outer : parent.get<Stmt>();
    isRepeated |= isa_and_nonnull<ForStmt>(outer);
    if (const auto *branch = dyn_cast_or_null<IfStmt>(outer))
      // A joined kernel is named for the first of the launches that it stands for, and one that
      // stands for a loop of launches is in no loop itself: that is a user's choice of two kernels.
      return branch->getElse() == call &&
             !(isRepeated && !ast::findAll<ForStmt>(branch->getThen()).empty()) &&
             llvm::any_of(ast::findAll<CUDAKernelCallExpr>(call),
                          [&](const CUDAKernelCallExpr *each) {
                            return launchesNamedFor(branch->getThen(), each);
                          });
    if (!outer || (!isa<Expr>(outer) && !isa<CompoundStmt, ForStmt>(outer)))
      return false;
    call = outer;
  }
}

std::vector<const Expr *> kbopt::testedBefore(const PassContext &context, const CallExpr *launch) {
  std::vector<const Expr *> tested;
  const Stmt *at = launch;
  for (;;) {
    const Stmt *outer = nullptr;
    for (const DynTypedNode &parent :
         context.parsed().context().getParentMapContext().getParents(*at))
      outer = outer ? outer : parent.get<Stmt>();
    if (const auto *list = dyn_cast_or_null<CompoundStmt>(outer); list && list->body_front() != at)
      return tested;
    if (const auto *branch = dyn_cast_or_null<IfStmt>(outer)) {
      if (branch->getThen() != at || branch->getInit() || branch->getConditionVariable())
        return tested;
      llvm::SmallVector<const Expr *> work{branch->getCond()};
      while (!work.empty()) {
        const Expr *expr = work.pop_back_val()->IgnoreParenImpCasts();
        const auto *both = dyn_cast<BinaryOperator>(expr);
        if (both && both->getOpcode() == BO_LAnd)
          work.append({both->getLHS(), both->getRHS()});
        else if (isRepeatable(expr))
          tested.push_back(expr);
      }
    } else if (!outer || (!isa<Expr>(outer) && !isa<CompoundStmt>(outer))) {
      return tested;
    }
    at = outer;
  }
}

/// The launch that \p statement is, if it is one.
static const CallExpr *launchOf(const Stmt *statement) {
  if (const auto *full = dyn_cast<ExprWithCleanups>(statement))
    statement = full->getSubExpr();
  return dyn_cast<CUDAKernelCallExpr>(statement);
}

bool kbopt::restsOn(const Expr *expr, llvm::ArrayRef<const VarDecl *> variables) {
  llvm::SmallVector<const Stmt *> work;
  if (expr)
    work.push_back(expr);
  llvm::SmallPtrSet<const VarDecl *, 8> seen;
  bool found = false;
  while (!work.empty() && !found && !variables.empty())
    ast::walk(work.pop_back_val(), [&](const Stmt *each) {
      const auto *ref = dyn_cast<DeclRefExpr>(each);
      const auto *variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
      if (!variable || !seen.insert(variable).second)
        return true;
      found |= llvm::is_contained(variables, variable);
      if (variable->hasInit() && !isa<ParmVarDecl>(variable))
        work.push_back(variable->getInit());
      return true;
    });
  return found;
}

using Variables = std::vector<const VarDecl *>;

/// The local variable that \p target, or a component of which it, is; null if it is something else.
static const VarDecl *assignedVariable(const Expr *target) {
  target = target->IgnoreParenImpCasts();
  if (const auto *member = dyn_cast<MemberExpr>(target); member && !member->isArrow())
    target = member->getBase()->IgnoreParenImpCasts();
  const auto *ref = dyn_cast<DeclRefExpr>(target);
  const auto *variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
  bool isLocal = variable && variable->hasLocalStorage() && !variable->getType()->isReferenceType();
  return isLocal ? variable : nullptr;
}

/// Whether \p statement is `grid.x = (n + 255) / 256;`: an integer or dim3 of the function gets
/// another value.
static bool isSizeAssignment(const Stmt *statement, Variables &assigned) {
  const Expr *left = nullptr, *right = nullptr;
  if (const auto *full = dyn_cast<ExprWithCleanups>(statement))
    statement = full->getSubExpr();
  if (const auto *binary = dyn_cast<BinaryOperator>(statement);
      binary && binary->getOpcode() == BO_Assign) {
    left = binary->getLHS();
    right = binary->getRHS();
  } else if (const auto *call = dyn_cast<CXXOperatorCallExpr>(statement);
             call && call->getOperator() == OO_Equal) {
    left = call->getArg(0);
    right = call->getArg(1);
  }
  const VarDecl *variable = left ? assignedVariable(left) : nullptr;
  if (!variable || !isRepeatable(right))
    return false;
  const auto *record = variable->getType()->getAsCXXRecordDecl();
  bool isSize = variable->getType()->isIntegralOrEnumerationType() ||
                (record && record->getNameAsString() == "dim3");
  if (isSize)
    assigned.push_back(variable);
  return isSize;
}

/// Whether \p call allocates memory for a pointer of the function.
static bool isAllocation(const CallExpr *call, Variables &assigned) {
  const FunctionDecl *function = call->getDirectCallee();
  if (!function || !function->getDeclName().isIdentifier() || function->getName() != "cudaMalloc" ||
      call->getNumArgs() < 2)
    return false;
  const auto *address = dyn_cast<UnaryOperator>(call->getArg(0)->IgnoreParenCasts());
  const VarDecl *variable = address && address->getOpcode() == UO_AddrOf
                                ? assignedVariable(address->getSubExpr())
                                : nullptr;
  if (!variable || !variable->getType()->isPointerType() || !isRepeatable(call->getArg(1)))
    return false;
  assigned.push_back(variable);
  return true;
}

/// Whether a call of \p function neither reads nor changes what kernels compute: it asks for
/// errors, waits, or reports an error.
static bool isErrorFunction(const FunctionDecl *function, unsigned depth);

/// Whether all that \p statement does is to ask for errors, to wait, to report or return them, and
/// to allocate memory.
static bool isErrorCheck(const Stmt *statement, Variables &assigned, unsigned depth = 0) {
  bool checks = true;
  ast::walk(statement, [&](const Stmt *each) {
    if (const auto *binary = dyn_cast<BinaryOperator>(each); binary && binary->isAssignmentOp()) {
      // `error = cudaGetLastError();`
      const VarDecl *variable = ast::variableOf(binary->getLHS());
      checks &= variable && variable->isLocalVarDecl() &&
                binary->getLHS()->getType().getAsString().find("cudaError") != std::string::npos;
    } else if (const auto *unary = dyn_cast<UnaryOperator>(each)) {
      checks &= !unary->isIncrementDecrementOp();
    } else if (isa<CUDAKernelCallExpr, CXXNewExpr, CXXDeleteExpr, LambdaExpr, GotoStmt>(each)) {
      checks = false;
    } else if (const auto *call = dyn_cast<CallExpr>(each)) {
      checks &= (depth == 0 && isAllocation(call, assigned)) ||
                isErrorFunction(call->getDirectCallee(), depth);
    }
    return checks;
  });
  return checks;
}

static bool isErrorFunction(const FunctionDecl *function, unsigned depth) {
  if (!function)
    return false;
  static const llvm::StringSet<> names = {"cudaGetLastError",
                                          "cudaPeekAtLastError",
                                          "cudaDeviceSynchronize",
                                          "cudaThreadSynchronize",
                                          "cudaStreamSynchronize",
                                          "cudaGetErrorString",
                                          "cudaGetErrorName",
                                          "printf",
                                          "fprintf",
                                          "exit",
                                          "abort",
                                          "perror"};
  if (function->getDeclName().isIdentifier() && names.contains(function->getName()))
    return true;
  // `std::cerr << "failed" << std::endl`
  if (function->isOverloadedOperator() && function->isInStdNamespace())
    return true;
  const FunctionDecl *definition = nullptr;
  Variables none;
  return depth < 3 && function->hasBody(definition) &&
         isErrorCheck(definition->getBody(), none, depth + 1);
}

/// Whether \p statement declares variables and does nothing else.
static bool isPlainDeclaration(const Stmt *statement, Variables &assigned) {
  const auto *declaration = dyn_cast<DeclStmt>(statement);
  return declaration && llvm::all_of(declaration->decls(), [&](const Decl *each) {
           const auto *variable = dyn_cast<VarDecl>(each);
           if (!variable)
             return isa<TypedefNameDecl, StaticAssertDecl, UsingDecl>(each);
           if (variable->getType()->isReferenceType() || variable->isStaticLocal())
             return false;
           const Expr *init = variable->getInit();
           const auto *record = variable->getType()->getAsCXXRecordDecl();
           if (record && record->getNameAsString() != "dim3")
             return false;
           return !init || isRepeatable(init) || isErrorCheck(init, assigned);
         });
}

bool kbopt::onlyDeclaresOrChecks(const Stmt *statement, Variables &assigned) {
  return isa<NullStmt>(statement) || isPlainDeclaration(statement, assigned) ||
         isErrorCheck(statement, assigned);
}

/// The list that \p statement, a launch, stands in, and its place there.
static std::pair<const CompoundStmt *, size_t> placeOf(const CallExpr *launch,
                                                       const FunctionDecl *host) {
  if (host && host->getBody())
    for (const CompoundStmt *list : ast::findAll<CompoundStmt>(host->getBody())) {
      size_t index = 0;
      for (const Stmt *each : list->body()) {
        if (launchOf(each) == launch)
          return {list, index};
        ++index;
      }
    }
  return {nullptr, 0};
}

const Stmt *kbopt::statementOf(const LaunchFact &fact) {
  const FunctionDecl *definition = nullptr;
  if (!fact.host || !fact.host->hasBody(definition))
    return nullptr;
  auto [list, index] = placeOf(fact.call, definition);
  return list ? list->body_begin()[index] : nullptr;
}

static bool isSameStream(const PassContext &context, const LaunchFact &first,
                         const LaunchFact &second) {
  if (!first.stream || !second.stream)
    return !first.stream && !second.stream;
  return ast::sameValue(first.stream, second.stream, first.host, context.parsed().context());
}

llvm::Expected<FollowingLaunch> kbopt::launchAfter(const PassContext &context,
                                                   const LaunchFact &fact) {
  std::string place = ast::lineText(context, fact.call->getBeginLoc());
  auto refuse = [&](const llvm::Twine &why) { return llvm::createStringError(why); };
  const FunctionDecl *definition = nullptr;
  if (fact.instances > 1 || !fact.host || !fact.host->hasBody(definition))
    return refuse("the launch at " + place + " stands for several launches");
  auto [list, index] = placeOf(fact.call, definition);
  if (!list)
    return refuse("the launch at " + place + " is no statement in a list");
  Variables assigned;
  for (const Stmt *each : llvm::drop_begin(list->body(), index + 1)) {
    const CallExpr *call = launchOf(each);
    if (!call && (isa<NullStmt>(each) || isPlainDeclaration(each, assigned) ||
                  isSizeAssignment(each, assigned) || isErrorCheck(each, assigned)))
      continue;
    std::string other = ast::lineText(context, each->getBeginLoc());
    if (!call)
      return refuse("what stands at " + other + ", after the launch at " + place +
                    ", may need what that computes");
    for (const KernelView &kernel : context.kernels())
      for (const LaunchFact &next : kernel.launches)
        if (next.call == call) {
          if (!isSameStream(context, fact, next))
            return refuse("the launches at " + place + " and " + other +
                          " are on different streams");
          return FollowingLaunch{&kernel, &next, assigned};
        }
    return refuse("the kernel launched at " + other + " is not in this file");
  }
  return refuse("no launch follows the one at " + place);
}
