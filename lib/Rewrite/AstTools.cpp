//===- AstTools.cpp - What several passes ask of an AST --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/AstTools.h"
#include "clang/Lex/Lexer.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

void ast::walk(const Stmt *root, llvm::function_ref<bool(const Stmt *)> visit) {
  if (!root || !visit(root))
    return;
  if (const auto *pseudo = llvm::dyn_cast<PseudoObjectExpr>(root))
    return walk(pseudo->getSyntacticForm(), visit);
  if (const auto *opaque = llvm::dyn_cast<OpaqueValueExpr>(root))
    return walk(opaque->getSourceExpr(), visit);
  if (const auto *list = llvm::dyn_cast<InitListExpr>(root))
    if (list->isSemanticForm() && list->getSyntacticForm())
      root = list->getSyntacticForm();
  if (const auto *lambda = llvm::dyn_cast<LambdaExpr>(root))
    return walk(lambda->getBody(), visit);
  for (const Stmt *child : root->children())
    walk(child, visit);
}

const Expr *ast::strip(const Expr *expr) {
  while (expr) {
    const Expr *inner = expr->IgnoreParenImpCasts();
    if (const auto *pseudo = llvm::dyn_cast<PseudoObjectExpr>(inner))
      inner = pseudo->getSyntacticForm();
    else if (const auto *opaque = llvm::dyn_cast<OpaqueValueExpr>(inner);
             opaque && opaque->getSourceExpr())
      inner = opaque->getSourceExpr();
    else if (const auto *full = llvm::dyn_cast<FullExpr>(inner))
      inner = full->getSubExpr();
    else if (const auto *temporary = llvm::dyn_cast<MaterializeTemporaryExpr>(inner))
      inner = temporary->getSubExpr();
    if (inner == expr)
      return expr;
    expr = inner;
  }
  return expr;
}

const VarDecl *ast::variableOf(const Expr *expr) {
  const auto *reference = llvm::dyn_cast_or_null<DeclRefExpr>(expr ? strip(expr) : nullptr);
  return reference ? llvm::dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
}

bool ast::mentions(const Stmt *root, const VarDecl *variable) {
  bool found = false;
  walk(root, [&](const Stmt *each) {
    if (const auto *reference = llvm::dyn_cast<DeclRefExpr>(each))
      found |= reference->getDecl()->getCanonicalDecl() == variable->getCanonicalDecl();
    return !found;
  });
  return found;
}

bool ast::callsAny(const Stmt *root, llvm::ArrayRef<StringRef> names) {
  for (const CallExpr *call : findAll<CallExpr>(root)) {
    if (const FunctionDecl *callee = call->getDirectCallee()) {
      if (const IdentifierInfo *identifier = callee->getIdentifier())
        if (llvm::is_contained(names, identifier->getName()))
          return true;
    } else if (const auto *unresolved = llvm::dyn_cast<UnresolvedLookupExpr>(call->getCallee())) {
      if (llvm::is_contained(names, unresolved->getName().getAsString()))
        return true;
    }
  }
  return false;
}

std::vector<const FunctionDecl *> ast::deviceFunctionsIn(const PassContext &context,
                                                         const KernelView &kernel) {
  const SourceManager &sources = context.parsed().sources();
  std::vector<const FunctionDecl *> functions{kernel.function()};
  for (size_t i = 0; i < functions.size(); ++i)
    for (const CallExpr *call : findAll<CallExpr>(functions[i]->getBody())) {
      const FunctionDecl *callee = call->getDirectCallee();
      callee = callee ? callee->getDefinition() : nullptr;
      if (!callee || !callee->hasAttr<CUDADeviceAttr>() || callee->hasAttr<CUDAHostAttr>() ||
          callee->isTemplateInstantiation() ||
          !sources.isWrittenInMainFile(callee->getLocation()) ||
          llvm::is_contained(functions, callee))
        continue;
      functions.push_back(callee);
    }
  return functions;
}

//===-- Thread indices ----------------------------------------------------===//

std::optional<ast::GridRef> ast::gridRefOf(const Expr *expr) {
  const auto *property = llvm::dyn_cast<MSPropertyRefExpr>(strip(expr));
  const Expr *base = nullptr;
  StringRef component;
  if (property) {
    base = property->getBaseExpr();
    component = property->getPropertyDecl()->getName();
  } else if (const auto *member = llvm::dyn_cast<MemberExpr>(strip(expr))) {
    base = member->getBase();
    if (!member->getMemberDecl()->getIdentifier())
      return std::nullopt;
    component = member->getMemberDecl()->getName();
  } else {
    return std::nullopt;
  }
  const VarDecl *variable = variableOf(base);
  if (!variable || component.size() != 1 || component[0] < 'x' || component[0] > 'z')
    return std::nullopt;
  std::optional<GridBuiltin> builtin =
      llvm::StringSwitch<std::optional<GridBuiltin>>(variable->getName())
          .Case("threadIdx", GridBuiltin::ThreadIdx)
          .Case("blockIdx", GridBuiltin::BlockIdx)
          .Case("blockDim", GridBuiltin::BlockDim)
          .Case("gridDim", GridBuiltin::GridDim)
          .Default(std::nullopt);
  if (!builtin || variable->isLocalVarDeclOrParm())
    return std::nullopt;
  return GridRef{*builtin, unsigned(component[0] - 'x')};
}

/// The operands of a binary \p opcode at \p expr (explicit integer casts are
/// looked through).
static bool splitBinary(const Expr *expr, BinaryOperatorKind opcode, const Expr *&left,
                        const Expr *&right) {
  expr = ast::strip(expr);
  if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(expr);
      cast && cast->getType()->isIntegerType())
    expr = ast::strip(cast->getSubExpr());
  const auto *binary = llvm::dyn_cast<BinaryOperator>(expr);
  if (!binary || binary->getOpcode() != opcode)
    return false;
  left = ast::strip(binary->getLHS());
  right = ast::strip(binary->getRHS());
  return true;
}

static bool isGrid(const Expr *expr, GridBuiltin builtin, unsigned dimension) {
  expr = ast::strip(expr);
  if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(expr);
      cast && cast->getType()->isIntegerType())
    expr = cast->getSubExpr();
  std::optional<ast::GridRef> ref = ast::gridRefOf(expr);
  return ref && ref->builtin == builtin && ref->dimension == dimension;
}

static bool isProductOf(const Expr *expr, GridBuiltin a, GridBuiltin b, unsigned dimension) {
  const Expr *left, *right;
  return splitBinary(expr, BO_Mul, left, right) &&
         ((isGrid(left, a, dimension) && isGrid(right, b, dimension)) ||
          (isGrid(left, b, dimension) && isGrid(right, a, dimension)));
}

bool ast::isGlobalThreadIndex(const Expr *expr, unsigned dimension) {
  const Expr *left, *right;
  if (!splitBinary(expr, BO_Add, left, right))
    return false;
  auto isBlockStart = [&](const Expr *e) {
    return isProductOf(e, GridBuiltin::BlockIdx, GridBuiltin::BlockDim, dimension);
  };
  auto isThread = [&](const Expr *e) { return isGrid(e, GridBuiltin::ThreadIdx, dimension); };
  return (isBlockStart(left) && isThread(right)) || (isThread(left) && isBlockStart(right));
}

bool ast::isGridSpan(const Expr *expr, unsigned dimension) {
  return isProductOf(expr, GridBuiltin::BlockDim, GridBuiltin::GridDim, dimension);
}

//===-- Loops -------------------------------------------------------------===//

std::optional<ast::CountedLoop> ast::countedLoop(const ForStmt *loop) {
  const auto *declaration = llvm::dyn_cast_or_null<DeclStmt>(loop->getInit());
  if (!declaration || !declaration->isSingleDecl() || !loop->getCond() || !loop->getInc())
    return std::nullopt;
  const auto *variable = llvm::dyn_cast<VarDecl>(declaration->getSingleDecl());
  if (!variable || !variable->hasInit() || !variable->getType()->isIntegerType())
    return std::nullopt;
  const auto *test = llvm::dyn_cast<BinaryOperator>(strip(loop->getCond()));
  if (!test)
    return std::nullopt;
  const Expr *end = nullptr;
  if (test->getOpcode() == BO_LT && variableOf(test->getLHS()) == variable)
    end = test->getRHS();
  else if (test->getOpcode() == BO_GT && variableOf(test->getRHS()) == variable)
    end = test->getLHS();
  if (!end || mentions(end, variable) || !isSpeculatable(end))
    return std::nullopt;
  const Expr *step = nullptr;
  const Expr *increment = strip(loop->getInc());
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(increment)) {
    if (!unary->isIncrementOp() || variableOf(unary->getSubExpr()) != variable)
      return std::nullopt;
  } else if (const auto *assign = llvm::dyn_cast<BinaryOperator>(increment)) {
    if (variableOf(assign->getLHS()) != variable)
      return std::nullopt;
    if (assign->getOpcode() == BO_AddAssign) {
      step = assign->getRHS();
    } else if (assign->getOpcode() == BO_Assign) {
      const Expr *left, *right;
      if (!splitBinary(assign->getRHS(), BO_Add, left, right))
        return std::nullopt;
      step = variableOf(left) == variable ? right : variableOf(right) == variable ? left : nullptr;
    }
    if (!step || mentions(step, variable))
      return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (mayModify(loop->getBody(), variable))
    return std::nullopt;
  for (const DeclRefExpr *reference : findAll<DeclRefExpr>(end))
    if (const auto *bound = llvm::dyn_cast<VarDecl>(reference->getDecl()))
      if (mayModify(loop->getBody(), bound))
        return std::nullopt;
  return CountedLoop{loop, variable, variable->getInit(), end, step};
}

//===-- Values ------------------------------------------------------------===//

const Expr *ast::resolve(const Expr *expr, const FunctionDecl *function) {
  for (unsigned depth = 0; depth < 8; ++depth) {
    expr = strip(expr);
    if (const auto *member = llvm::dyn_cast<MemberExpr>(expr);
        member && variableOf(member->getBase()) && member->getMemberDecl()->getIdentifier()) {
      StringRef component = member->getMemberDecl()->getName();
      bool known = false;
      if (component.size() == 1 && component[0] >= 'x' && component[0] <= 'z' &&
          member->getBase()->getType().getUnqualifiedType().getAsString().ends_with("dim3"))
        if (const Expr *value =
                launchComponent(member->getBase(), component[0] - 'x', function, known))
          if (known) {
            expr = value;
            continue;
          }
      return expr;
    }
    const VarDecl *variable = variableOf(expr);
    if (!variable || !variable->hasInit() || !variable->getType()->isIntegerType() ||
        llvm::isa<ParmVarDecl>(variable))
      return expr;
    if (!variable->getType().isConstQualified() &&
        (!variable->isLocalVarDecl() || !function || !function->getBody() ||
         mayModify(function->getBody(), variable)))
      return expr;
    expr = variable->getInit();
  }
  return expr;
}

std::optional<int64_t> ast::constantOf(const Expr *expr, const ASTContext &context) {
  if (!expr || expr->isValueDependent() || !expr->getType()->isIntegralOrEnumerationType())
    return std::nullopt;
  Expr::EvalResult result;
  if (!expr->EvaluateAsInt(result, context) || result.HasSideEffects)
    return std::nullopt;
  return result.Val.getInt().tryExtValue();
}

bool ast::sameValue(const Expr *a, const Expr *b, const FunctionDecl *function,
                    const ASTContext &context) {
  if (!a || !b)
    return a == b;
  a = resolve(a, function);
  b = resolve(b, function);
  std::optional<int64_t> left = constantOf(a, context), right = constantOf(b, context);
  if (left || right)
    return left && right && *left == *right;
  if (!isSpeculatable(a) || !isSpeculatable(b))
    return false;
  llvm::FoldingSetNodeID first, second;
  a->Profile(first, context, /*Canonical=*/true);
  b->Profile(second, context, /*Canonical=*/true);
  return first == second;
}

/// Whether \p expr is \p size - 1.
static bool isOneLess(const Expr *expr, const Expr *size, const FunctionDecl *function,
                      const ASTContext &context) {
  std::optional<int64_t> value = ast::constantOf(ast::resolve(expr, function), context);
  std::optional<int64_t> whole = ast::constantOf(ast::resolve(size, function), context);
  if (value && whole)
    return *value == *whole - 1;
  const Expr *left, *right;
  return splitBinary(expr, BO_Sub, left, right) &&
         ast::constantOf(right, context) == std::optional<int64_t>(1) &&
         ast::sameValue(left, size, function, context);
}

static std::optional<ast::CeilDivision>
ceilDivisionOf(const Expr *expr, const FunctionDecl *function, const ASTContext &context) {
  const Expr *dividend, *size;
  if (splitBinary(expr, BO_Div, dividend, size)) {
    const Expr *left, *right;
    // count + (size - 1), in either order.
    if (splitBinary(dividend, BO_Add, left, right)) {
      if (isOneLess(right, size, function, context))
        return ast::CeilDivision{left, size};
      if (isOneLess(left, size, function, context))
        return ast::CeilDivision{right, size};
    }
    // (count + size) - 1.
    if (splitBinary(dividend, BO_Sub, left, right) &&
        ast::constantOf(right, context) == std::optional<int64_t>(1)) {
      const Expr *first, *second;
      if (splitBinary(left, BO_Add, first, second)) {
        if (ast::sameValue(second, size, function, context))
          return ast::CeilDivision{first, size};
        if (ast::sameValue(first, size, function, context))
          return ast::CeilDivision{second, size};
      }
    }
  }
  return std::nullopt;
}

std::optional<ast::CeilDivision> ast::ceilDivision(const Expr *expr, const FunctionDecl *function,
                                                   const ASTContext &context) {
  expr = resolve(expr, function);
  if (std::optional<CeilDivision> direct = ceilDivisionOf(expr, function, context))
    return direct;
  // A function of two parameters that returns their quotient, rounded up.
  const auto *call = llvm::dyn_cast<CallExpr>(expr);
  const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  const FunctionDecl *definition = nullptr;
  if (!callee || !callee->hasBody(definition) || definition->getNumParams() != 2)
    return std::nullopt;
  const auto *body = llvm::dyn_cast<CompoundStmt>(definition->getBody());
  if (!body || body->size() != 1)
    return std::nullopt;
  const auto *returned = llvm::dyn_cast<ReturnStmt>(body->body_front());
  if (!returned || !returned->getRetValue())
    return std::nullopt;
  std::optional<CeilDivision> inner = ceilDivisionOf(returned->getRetValue(), definition, context);
  if (!inner || variableOf(inner->count) != definition->getParamDecl(0) ||
      variableOf(inner->size) != definition->getParamDecl(1))
    return std::nullopt;
  return CeilDivision{call->getArg(0), call->getArg(1)};
}

const Expr *ast::launchComponent(const Expr *configuration, unsigned dimension,
                                 const FunctionDecl *host, bool &known) {
  known = true;
  const Expr *expr = strip(configuration);
  while (expr) {
    if (expr->getType()->isIntegralOrEnumerationType()) // an integer that becomes a dim3
      return dimension == 0 ? expr : nullptr;
    if (const VarDecl *variable = variableOf(expr)) {
      // A dim3 variable that only its declaration sets.
      if (!variable->hasInit() || !variable->isLocalVarDecl() || !host || !host->getBody() ||
          mayModify(host->getBody(), variable))
        break;
      expr = strip(variable->getInit());
      continue;
    }
    if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(expr)) { // dim3(n) and (dim3)x
      expr = strip(cast->getSubExpr());
      continue;
    }
    if (const auto *construct = llvm::dyn_cast<CXXConstructExpr>(expr)) {
      const CXXConstructorDecl *constructor = construct->getConstructor();
      if (constructor->isCopyOrMoveConstructor()) {
        expr = strip(construct->getArg(0));
        continue;
      }
      if (dimension >= construct->getNumArgs())
        return nullptr;
      const Expr *argument = construct->getArg(dimension);
      if (!argument->getType()->isIntegralOrEnumerationType())
        break; // dim3(uint3)
      return llvm::isa<CXXDefaultArgExpr>(argument) ? nullptr : argument;
    }
    break;
  }
  known = false;
  return nullptr;
}

//===-- Names, places, sites ----------------------------------------------===//

std::string ast::lineText(const PassContext &context, SourceLocation location) {
  return "line " + std::to_string(lineColumn(context.parsed(), location).line);
}

/// The text of the line of \p location up to it.
static StringRef beforeOnLine(const PassContext &context, SourceLocation location) {
  const SourceManager &sources = context.parsed().sources();
  unsigned offset = sources.getFileOffset(sources.getFileLoc(location));
  StringRef text = context.parsed().text().take_front(offset);
  return text.drop_front(text.rfind('\n') + 1);
}

std::string ast::indentation(const PassContext &context, SourceLocation location) {
  StringRef line = beforeOnLine(context, location);
  return line.take_while([](char c) { return c == ' ' || c == '\t'; }).str();
}

std::string ast::ownLine(const PassContext &context, SourceLocation location,
                         const llvm::Twine &line) {
  bool first = beforeOnLine(context, location).trim().empty();
  return ((first ? "" : "\n") + line + "\n" + indentation(context, location)).str();
}

Site ast::siteOf(const KernelView &kernel, const Stmt *statement, mlir::Operation *op) {
  Site site;
  site.kernel = &kernel;
  site.node = DynTypedNode::create(*statement);
  site.op = op;
  site.range = statement->getSourceRange();
  return site;
}

Site ast::siteOf(const KernelView &kernel, const VarDecl *variable) {
  Site site;
  site.kernel = &kernel;
  site.node = DynTypedNode::create(*variable);
  site.range = SourceRange(variable->getLocation());
  return site;
}

std::vector<Site> ast::loopSites(const PassContext &context, const KernelView &kernel) {
  std::vector<Site> sites;
  walk(kernel.function()->getBody(), [&](const Stmt *each) {
    if (llvm::isa<ForStmt, WhileStmt, DoStmt>(each)) {
      auto ops = context.imported().loopsOf(each);
      sites.push_back(siteOf(kernel, each, ops.empty() ? nullptr : ops.front().getOperation()));
    }
    return true;
  });
  return sites;
}

std::vector<Site> ast::kernelSites(const KernelView &kernel) {
  if (kernel.isInHeader() && kernel.launches.empty())
    return {}; // nothing of it stands in the file
  Site site;
  site.kernel = &kernel;
  site.node = DynTypedNode::create(*kernel.function());
  if (!kernel.ops.empty())
    site.op = kb::KernelOp(kernel.ops.front()).getOperation();
  site.range = SourceRange(kernel.isInHeader() ? kernel.launches.front().call->getBeginLoc()
                                               : kernel.function()->getLocation());
  return {site};
}
