//===- LaunchWays.cpp - Launches under conditions --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LaunchWays.h"
#include "RenamedText.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/ParentMapContext.h"
#include <map>
#include <set>

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

static const Stmt *parentOf(const ParsedProgram &program, const Stmt *statement) {
  for (const DynTypedNode &parent : program.context().getParentMapContext().getParents(*statement))
    if (const auto *outer = parent.get<Stmt>())
      return outer;
  return nullptr;
}

static bool launches(const Stmt *statement) {
  return statement && !ast::findAll<CUDAKernelCallExpr>(statement).empty();
}

namespace {

class Places {
public:
  Places(const ParsedProgram &program, const ParsedProgram &before) : program(program) {
    for (const Decl *each : before.declarations())
      if (const auto *function = each->getAsFunction(); function && function->hasBody())
        for (const auto *branch : ast::findAll<IfStmt>(function->getBody()))
          old.insert(tokenText(sourceText(before, branch->getCond()->getSourceRange())));
    for (const LaunchFact &each : findLaunches(program))
      facts[each.call] = &each;
  }

  llvm::Expected<std::vector<LaunchPlace>> run() {
    std::vector<LaunchPlace> places;
    std::set<const IfStmt *> seen;
    for (const LaunchFact &each : findLaunches(program)) {
      LaunchPlace place;
      const IfStmt *choice = choiceAround(each.call);
      if (choice && !seen.insert(choice).second)
        continue;
      if (llvm::Error error = choice ? addChoice(choice, place) : addWay(nullptr, each.call, place))
        return std::move(error);
      places.push_back(std::move(place));
    }
    return std::move(places);
  }

private:
  /// The outermost new `if` with launches in both branches that \p call is in.
  const IfStmt *choiceAround(const Stmt *call) const {
    const IfStmt *found = nullptr;
    for (const Stmt *at = call; at; at = parentOf(program, at))
      if (const auto *branch = llvm::dyn_cast<IfStmt>(at);
          branch && launches(branch->getThen()) && launches(branch->getElse()) &&
          !old.count(tokenText(sourceText(program, branch->getCond()->getSourceRange()))))
        found = branch;
    return found;
  }

  llvm::Error addChoice(const IfStmt *choice, LaunchPlace &place) {
    if (choice->getInit() || choice->getConditionVariable() || choice->isConstexpr())
      return llvm::createStringError("a launch of its examples/after.cu stands under a condition "
                                     "that declares a variable or is 'if constexpr'");
    if (llvm::Error error = addBranch(choice->getCond(), choice->getThen(), place))
      return error;
    const Stmt *rest = withoutBraces(choice->getElse());
    if (const auto *next = llvm::dyn_cast<IfStmt>(rest); next && launches(next->getElse()))
      return addChoice(next, place);
    return addBranch(nullptr, rest, place);
  }

  /// A branch has one launch. Beside it there may be variables that the launch is written with, and
  /// what the kernel must be allowed.
  llvm::Error addBranch(const Expr *condition, const Stmt *branch, LaunchPlace &place) {
    branch = withoutBraces(branch);
    llvm::SmallVector<const Stmt *> statements{branch};
    if (const auto *list = llvm::dyn_cast<CompoundStmt>(branch))
      statements.assign(list->body_begin(), list->body_end());
    const CallExpr *launch = nullptr;
    for (const Stmt *each : statements) {
      const auto *expr = llvm::dyn_cast<Expr>(each);
      const auto *call = expr ? llvm::dyn_cast<CallExpr>(expr->IgnoreImplicit()) : nullptr;
      if (const auto *found = llvm::dyn_cast_or_null<CUDAKernelCallExpr>(call); found && !launch)
        launch = found;
      else if (!llvm::isa<DeclStmt, NullStmt>(each) && !isSetup(call))
        return llvm::createStringError(
            "a branch of its examples/after.cu does more than one launch: '" +
            tokenText(sourceText(program, each->getSourceRange())) + "'");
    }
    if (!launch)
      return llvm::createStringError("a branch of its examples/after.cu launches nothing");
    return addWay(condition, launch, place);
  }

  llvm::Error addWay(const Expr *condition, const CallExpr *launch, LaunchPlace &place) {
    auto fact = facts.find(launch);
    if (fact == facts.end())
      return llvm::createStringError("a launch of its examples/after.cu is not understood");
    LaunchWay way{condition, fact->second, {}, false};
    if (const Stmt *body = way.launch->host ? way.launch->host->getBody() : nullptr)
      for (const auto *call : ast::findAll<CallExpr>(body))
        if (isSetup(call) && namesKernel(call, way.launch->kernel))
          way.setup.push_back(call);
    place.push_back(std::move(way));
    return llvm::Error::success();
  }

  /// The statement that stands alone in braces.
  static const Stmt *withoutBraces(const Stmt *statement) {
    while (const auto *list = llvm::dyn_cast<CompoundStmt>(statement)) {
      if (list->size() != 1)
        break;
      statement = list->body_front();
    }
    return statement;
  }

  static bool isSetup(const CallExpr *call) {
    const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
    return callee && callee->getNameAsString() == "cudaFuncSetAttribute" && call->getNumArgs() == 3;
  }

  static bool namesKernel(const CallExpr *setup, const FunctionDecl *kernel) {
    return kernel &&
           llvm::any_of(ast::findAll<DeclRefExpr>(setup->getArg(0)), [&](const auto *each) {
             return each->getDecl()->getCanonicalDecl() == kernel->getCanonicalDecl();
           });
  }

  const ParsedProgram &program;
  std::set<std::string> old; ///< conditions of the program before
  std::map<const CallExpr *, const LaunchFact *> facts;
};

} // namespace

llvm::Expected<std::vector<LaunchPlace>> kbopt::launchPlaces(const ParsedProgram &program,
                                                             const ParsedProgram &before) {
  return Places(program, before).run();
}

bool kbopt::isOtherWay(const ParsedProgram &program, const LaunchFact &launch) {
  for (const Stmt *at = launch.call; at;) {
    const Stmt *outer = parentOf(program, at);
    if (const auto *branch = llvm::dyn_cast_or_null<IfStmt>(outer);
        branch && branch->getElse() == at && launches(branch->getThen()))
      return true;
    at = outer;
  }
  return false;
}

bool kbopt::standsInList(const ParsedProgram &program, const LaunchFact &launch) {
  const Stmt *outer = parentOf(program, launch.call);
  while (llvm::isa_and_nonnull<Expr>(outer))
    outer = parentOf(program, outer);
  return llvm::isa_and_nonnull<CompoundStmt>(outer);
}
