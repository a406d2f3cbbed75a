//===- HostPath.cpp - What the host does after a launch ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostPath.h"

using namespace kbopt;
using namespace kbopt::hostpath;
using namespace clang;
using llvm::StringRef;

static StringRef nameOf(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  return callee && callee->getIdentifier() ? callee->getName() : StringRef();
}

StringRef hostpath::calledAlone(const Stmt *statement) {
  const auto *expr = dyn_cast_or_null<Expr>(statement);
  const auto *call = expr ? dyn_cast<CallExpr>(ast::strip(expr)) : nullptr;
  return call && !isa<CUDAKernelCallExpr>(call) ? nameOf(call) : StringRef();
}

HostTables::HostTables(const FunctionDecl *function) {
  ast::walk(function->getBody(), [&](const Stmt *each) {
    for (const Stmt *child : each->children())
      if (child)
        parents[child] = each;
    if (const auto *unary = dyn_cast<UnaryOperator>(each); unary && unary->getOpcode() == UO_AddrOf)
      if (const VarDecl *variable = ast::variableOf(unary->getSubExpr())) {
        // cudaMalloc writes the pointer at once.
        const Stmt *up = parents.lookup(unary);
        while (isa_and_nonnull<CastExpr, ParenExpr>(up))
          up = parents.lookup(up);
        const auto *call = dyn_cast_or_null<CallExpr>(up);
        if (!call || nameOf(call) != "cudaMalloc")
          addressTaken.insert(variable);
      }
    if (const auto *declaration = dyn_cast<DeclStmt>(each))
      for (const Decl *decl : declaration->decls())
        if (const auto *variable = dyn_cast<VarDecl>(decl);
            variable && variable->getType()->isReferenceType() && variable->getInit())
          for (const auto *reference : ast::findAll<DeclRefExpr>(variable->getInit()))
            if (const auto *target = dyn_cast<VarDecl>(reference->getDecl()))
              addressTaken.insert(target);
    if (const auto *lambda = dyn_cast<LambdaExpr>(each))
      for (const auto *reference : ast::findAll<DeclRefExpr>(lambda->getBody()))
        if (const auto *target = dyn_cast<VarDecl>(reference->getDecl()))
          addressTaken.insert(target);
    return true;
  });
}

/// The tables of \p function, which is walked once.
static const HostTables &tablesOf(const ParsedProgram &program, const FunctionDecl *function) {
  using ByFunction = std::map<const FunctionDecl *, HostTables>;
  return program.derived<ByFunction>([] { return ByFunction(); })
      .try_emplace(function, function)
      .first->second;
}

HostFunction::HostFunction(const PassContext &context, const FunctionDecl *function)
    : context(context), host(function), tables(tablesOf(context.parsed(), function)) {}

const Stmt *HostFunction::parentOf(const Stmt *statement) const {
  return tables.parents.lookup(statement);
}

const Stmt *HostFunction::inBlock(const Stmt *inner) const {
  for (const Stmt *up = parentOf(inner); up; inner = up, up = parentOf(up))
    if (isa<CompoundStmt>(up))
      return inner;
  return nullptr;
}

/// Whether \p callee returns a value of its arguments and does nothing else.
static bool isArithmetic(const FunctionDecl *callee, unsigned depth) {
  if (!callee || !callee->getReturnType()->isArithmeticType())
    return false;
  for (const ParmVarDecl *parameter : callee->parameters())
    if (!parameter->getType().getNonReferenceType()->isArithmeticType())
      return false;
  if (callee->getIdentifier() &&
      callee->getASTContext().getSourceManager().isInSystemHeader(callee->getLocation())) {
    static constexpr StringRef known[] = {"min",    "max",  "ceil",  "ceilf", "floor",
                                          "floorf", "sqrt", "sqrtf", "abs"};
    return llvm::is_contained(known, callee->getName());
  }
  const FunctionDecl *definition = nullptr;
  const auto *body =
      callee->hasBody(definition) ? dyn_cast<CompoundStmt>(definition->getBody()) : nullptr;
  if (!body || body->size() != 1 || depth > 3 || !isa<ReturnStmt>(body->body_front()))
    return false;
  bool pure = true;
  ast::walk(body, [&](const Stmt *each) {
    if (const auto *call = dyn_cast<CallExpr>(each))
      pure &= isArithmetic(call->getDirectCallee(), depth + 1);
    if (const auto *unary = dyn_cast<UnaryOperator>(each))
      pure &= unary->getOpcode() != UO_Deref && unary->getOpcode() != UO_AddrOf;
    if (const auto *reference = dyn_cast<DeclRefExpr>(each))
      if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl()))
        pure &= !variable->hasGlobalStorage() || variable->getType().isConstQualified();
    pure &= !isa<ArraySubscriptExpr, LambdaExpr, CXXNewExpr>(each);
    return pure;
  });
  return pure;
}

bool HostFunction::readsNoMemory(const Expr *expr) const {
  bool clean = true;
  ast::walk(expr, [&](const Stmt *each) {
    if (const auto *call = dyn_cast<CallExpr>(each))
      clean &= isArithmetic(call->getDirectCallee(), 0);
    else if (const auto *construct = dyn_cast<CXXConstructExpr>(each))
      clean &= construct->getConstructor()->getParent()->getName() == "dim3" ||
               construct->getConstructor()->isTrivial();
    else if (const auto *unary = dyn_cast<UnaryOperator>(each))
      clean &= unary->getOpcode() != UO_Deref && unary->getOpcode() != UO_AddrOf;
    else if (const auto *member = dyn_cast<MemberExpr>(each))
      clean &= !member->isArrow();
    else if (const auto *binary = dyn_cast<BinaryOperator>(each))
      clean &= !binary->isAssignmentOp() || ast::variableOf(binary->getLHS());
    else if (const auto *reference = dyn_cast<DeclRefExpr>(each)) {
      if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl()))
        clean &= variable->isLocalVarDeclOrParm() && !variable->hasGlobalStorage()
                     ? !tables.addressTaken.count(variable) &&
                           !variable->getType()->isReferenceType() &&
                           !variable->getType().isVolatileQualified()
                     : variable->getType().isConstQualified() && variable->hasInit();
    } else {
      clean &= !isa<ArraySubscriptExpr, LambdaExpr, CXXNewExpr, CXXDeleteExpr, CXXThisExpr,
                    StmtExpr, AtomicExpr>(each);
    }
    return clean;
  });
  return clean;
}

HostFunction::Effect HostFunction::effectOfCall(const CallExpr *call) const {
  auto argumentsAreClean = [&](unsigned first) {
    for (unsigned i = first; i < call->getNumArgs(); ++i)
      if (!isa<CXXDefaultArgExpr>(call->getArg(i)) && !readsNoMemory(call->getArg(i)))
        return false;
    return true;
  };
  if (const auto *launch = dyn_cast<CUDAKernelCallExpr>(call))
    return argumentsAreClean(0) && readsNoMemory(launch->getConfig()->getArg(0)) &&
                   readsNoMemory(launch->getConfig()->getArg(1))
               ? Effect::Quiet
               : Effect::Reads;
  StringRef name = nameOf(call);
  if (name == "cudaDeviceSynchronize")
    return Effect::Waits;
  // Not taken for a wait, though it often is one.
  if (name == "cudaFree" || name == "cudaMemset")
    return argumentsAreClean(0) ? Effect::Quiet : Effect::Reads;
  if (name == "cudaMalloc")
    return argumentsAreClean(1) ? Effect::Quiet : Effect::Reads;
  if (name == "cudaMemcpy" && call->getNumArgs() == 4) {
    std::optional<int64_t> kind = ast::constantOf(call->getArg(3), context.parsed().context());
    if (kind == std::optional<int64_t>(2)) // cudaMemcpyDeviceToHost
      return Effect::Waits;
    if (kind == std::optional<int64_t>(3)) // cudaMemcpyDeviceToDevice
      return argumentsAreClean(0) ? Effect::Quiet : Effect::Reads;
  }
  return Effect::Reads;
}

HostFunction::Effect HostFunction::effectOf(const Stmt *statement, const Stmt *&reader) const {
  auto read = [&] {
    reader = statement;
    return Effect::Reads;
  };
  auto all = [&](std::initializer_list<const Stmt *> parts) {
    for (const Stmt *part : parts)
      if (part && effectOf(part, reader) == Effect::Reads)
        return Effect::Reads;
    return Effect::Quiet; // a wait in it may not be reached
  };
  if (isa<NullStmt>(statement))
    return Effect::Quiet;
  if (const auto *block = dyn_cast<CompoundStmt>(statement)) {
    for (const Stmt *child : block->body())
      if (Effect effect = effectOf(child, reader); effect != Effect::Quiet)
        return effect;
    return Effect::Quiet;
  }
  if (const auto *choice = dyn_cast<IfStmt>(statement))
    return all({choice->getInit(), choice->getCond(), choice->getThen(), choice->getElse()});
  if (const auto *loop = dyn_cast<ForStmt>(statement))
    return all({loop->getInit(), loop->getCond(), loop->getInc(), loop->getBody()});
  if (const auto *loop = dyn_cast<WhileStmt>(statement))
    return all({loop->getCond(), loop->getBody()});
  if (const auto *loop = dyn_cast<DoStmt>(statement))
    return all({loop->getCond(), loop->getBody()});
  if (const auto *declaration = dyn_cast<DeclStmt>(statement)) {
    for (const Decl *decl : declaration->decls())
      if (const auto *variable = dyn_cast<VarDecl>(decl); variable && variable->getInit())
        if (variable->hasGlobalStorage() || !readsNoMemory(variable->getInit()))
          return read();
    return Effect::Quiet;
  }
  const auto *expr = dyn_cast<Expr>(statement);
  if (!expr)
    return read(); // break, return, …
  if (const auto *call = dyn_cast<CallExpr>(ast::strip(expr))) {
    Effect effect = effectOfCall(call);
    return effect == Effect::Reads && !readsNoMemory(expr) ? read()
           : effect == Effect::Reads                       ? Effect::Quiet
                                                           : effect;
  }
  return readsNoMemory(expr) ? Effect::Quiet : read();
}

HostFunction::Answer HostFunction::after(const Stmt *statement, const Stmt *within) const {
  Answer answer;
  for (const Stmt *at = statement; at;) {
    const Stmt *parent = parentOf(at);
    if (const auto *block = dyn_cast_or_null<CompoundStmt>(parent)) {
      auto place = llvm::find(block->body(), at);
      for (++place; place != block->body_end(); ++place) {
        Effect effect = effectOf(*place, answer.reader);
        if (effect != Effect::Quiet)
          return answer; // a wait, or the reader
      }
    }
    if (isa_and_nonnull<ForStmt, WhileStmt, DoStmt>(parent)) {
      // The next iteration, up to where this one began. Its own synchronisation closes the circle.
      Effect header = Effect::Quiet;
      if (const auto *loop = dyn_cast<ForStmt>(parent)) {
        for (const Stmt *part : {static_cast<const Stmt *>(loop->getInc()),
                                 static_cast<const Stmt *>(loop->getCond())})
          if (part && header == Effect::Quiet)
            header = effectOf(part, answer.reader);
      } else {
        header = effectOf(isa<WhileStmt>(parent) ? cast<WhileStmt>(parent)->getCond()
                                                 : cast<DoStmt>(parent)->getCond(),
                          answer.reader);
      }
      if (header == Effect::Reads)
        return answer;
      if (effectOf(at, answer.reader) == Effect::Reads)
        return answer;
      if (parent == within)
        return answer;
    } else if (parent && !isa<CompoundStmt, IfStmt>(parent)) {
      answer.reader = parent;
      return answer;
    }
    at = parent;
  }
  answer.reachesEnd = true;
  return answer;
}
