//===- ReadStatements.cpp - Statements of one thread -----------------------===//
//
// Owns the reading of a kernel's statements in the order of its text, with early returns and
// `continue` turned into conditions.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/Attr.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace clang;

namespace kbopt::raise {

ThreadProgram readThread(const FunctionDecl *kernel, bool liftsChoices) {
  ThreadProgram program;
  ThreadReader(kernel, program, liftsChoices).read();
  return program;
}

ThreadReader::ThreadReader(const FunctionDecl *kernel, ThreadProgram &program, bool liftsChoices)
    : kernel(kernel), ast(kernel->getASTContext()), program(program), space(program.space),
      liftsChoices(liftsChoices) {}

void ThreadReader::read() {
  const Stmt *body = kernel->getBody();
  if (!body)
    return refuse("its body is not in sight");
  findUntrackedVariables(body, ast, untracked, forms, moves, liftsChoices);
  liftsChoices |= !mayCooperate(body);
  readParameters();
  readSequence({body}, program.body);
}

namespace {

/// Variables that are changed deeper than they are declared, or whose address is taken.
class ChangeFinder : public RecursiveASTVisitor<ChangeFinder> {
public:
  ChangeFinder(const ASTContext &ast, std::set<const VarDecl *> &untracked, LoopForms &forms, LoopMoves &moves,
               bool movesIntegers)
      : ast(ast), untracked(untracked), forms(forms), moves(moves), movesIntegers(movesIntegers) {}

  /// Variables that are changed elsewhere, too, do not only move on.
  void finish() {
    for (auto &[loop, moved] : moves)
      llvm::erase_if(moved, [&](const LoopMove &each) { return untracked.count(each.variable); });
  }

  bool VisitVarDecl(VarDecl *variable) {
    depths[variable] = depth;
    return true;
  }
  bool TraverseForStmt(ForStmt *given) {
    const ForStmt *loop = forms.asFor(given, ast);
    loop = loop ? loop : given;
    // The header may change the loop's own variable.
    const VarDecl *own = countedVariable(loop);
    if (own && !loop->getInit())
      if (auto at = depths.find(own); at == depths.end() || at->second != depth)
        own = nullptr; // what it is after the loop depends on whether the loop is reached
    ++depth;
    const VarDecl *around = std::exchange(inHeader, own);
    TraverseStmt(const_cast<Stmt *>(loop->getInit()));
    inHeader = around;
    TraverseStmt(const_cast<Expr *>(loop->getCond()));
    const VarDecl *outer = std::exchange(inHeader, own);
    loops.push_back({loop, depth - 1});
    TraverseStmt(const_cast<Expr *>(loop->getInc()));
    inHeader = outer;
    ++depth;
    TraverseStmt(const_cast<Stmt *>(loop->getBody()));
    loops.pop_back();
    depth -= 2;
    return true;
  }
  bool TraverseWhileStmt(WhileStmt *loop) {
    if (const ForStmt *counted = forms.asFor(loop, ast))
      return TraverseForStmt(const_cast<ForStmt *>(counted));
    return nested(loop, &ChangeFinder::base<WhileStmt>);
  }
  bool TraverseDoStmt(DoStmt *loop) {
    if (const ForStmt *counted = forms.asFor(loop, ast))
      return TraverseForStmt(const_cast<ForStmt *>(counted));
    return nested(loop, &ChangeFinder::base<DoStmt>);
  }
  bool TraverseIfStmt(IfStmt *branch) {
    if (std::optional<const Stmt *> side = constantSide(branch, ast))
      return TraverseStmt(const_cast<Stmt *>(*side));
    return nested(branch, &ChangeFinder::base<IfStmt>);
  }
  bool TraverseSwitchStmt(SwitchStmt *branch) { return nested(branch, &ChangeFinder::base<SwitchStmt>); }
  bool TraversePseudoObjectExpr(PseudoObjectExpr *) { return true; }

  bool VisitBinaryOperator(BinaryOperator *op) {
    if (op->isAssignmentOp())
      change(op->getLHS(), op);
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) {
    if (op->isIncrementDecrementOp())
      change(op->getSubExpr(), op);
    if (op->getOpcode() == UO_AddrOf)
      escape(op->getSubExpr());
    return true;
  }
  bool VisitCallExpr(CallExpr *call) {
    const FunctionDecl *callee = call->getDirectCallee();
    for (unsigned i = 0; callee && i < call->getNumArgs() && i < callee->getNumParams(); ++i) {
      QualType type = callee->getParamDecl(i)->getType();
      bool offset = llvm::isa<CXXOperatorCallExpr>(call) && llvm::isa<CXXMethodDecl>(callee);
      if (type->isReferenceType() && !type.getNonReferenceType().isConstQualified() &&
          i + offset < call->getNumArgs())
        escape(call->getArg(i + offset));
    }
    return true;
  }

private:
  template <class Node> bool base(Node *node) {
    for (Stmt *child : node->children())
      TraverseStmt(child);
    return true;
  }
  template <class Node> bool nested(Node *node, bool (ChangeFinder::*visit)(Node *)) {
    ++depth;
    (this->*visit)(node);
    --depth;
    return true;
  }
  void change(const Expr *lvalue, const Expr *by) {
    const VarDecl *variable = variableOf(lvalue);
    if (!variable || variable == inHeader)
      return;
    auto at = depths.find(variable);
    unsigned declared = at == depths.end() ? 0 : at->second;
    if (depth <= declared)
      return;
    // Once in each iteration of a loop beside which it is declared.
    bool isOnce = !loops.empty() && loops.back().second == declared && depth <= declared + 2 && moved.insert(variable).second;
    LoopMove move{variable, nullptr, false};
    Statement::Progress progress = Statement::Add;
    QualType type = variable->getType();
    isOnce &= type->isPointerType() || (movesIntegers && type->isIntegerType() && ast.getTypeSize(type) >= 32);
    if (isOnce && readIncrement(by, variable, progress, move.step) && isFixedIn(move.step, loops.back().first) &&
        (progress == Statement::Add || progress == Statement::Down)) {
      move.isDown = progress == Statement::Down;
      moves[loops.back().first].push_back(move);
      return;
    }
    untracked.insert(variable);
  }
  /// Whether \p expr is computed from variables that \p loop neither declares nor changes.
  bool isFixedIn(const Stmt *expr, const ForStmt *loop) {
    if (!expr)
      return true;
    if (llvm::isa<CallExpr, ArraySubscriptExpr, LambdaExpr>(expr))
      return false;
    if (const auto *unary = llvm::dyn_cast<UnaryOperator>(expr); unary && unary->getOpcode() == UO_Deref)
      return false;
    if (const auto *reference = llvm::dyn_cast<DeclRefExpr>(expr))
      if (const auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl())) {
        auto at = depths.find(variable);
        bool isOutside = at == depths.end() || at->second <= loops.back().second;
        return isOutside && variable != countedVariable(loop) && !changesVariable(loop->getBody(), variable);
      }
    return llvm::all_of(expr->children(), [&](const Stmt *child) { return isFixedIn(child, loop); });
  }
  void escape(const Expr *lvalue) {
    if (const VarDecl *variable = variableOf(lvalue))
      untracked.insert(variable);
  }

  const ASTContext &ast;
  std::set<const VarDecl *> &untracked;
  LoopForms &forms;
  LoopMoves &moves;
  bool movesIntegers;
  std::set<const VarDecl *> moved;
  std::vector<std::pair<const ForStmt *, unsigned>> loops; ///< around, with the depth that they stand at
  std::map<const VarDecl *, unsigned> depths;
  const VarDecl *inHeader = nullptr;
  unsigned depth = 0;
};

} // namespace

std::optional<const Stmt *> constantSide(const IfStmt *branch, const ASTContext &ast) {
  if (branch->getInit() || branch->getConditionVariable() || branch->isConsteval())
    return std::nullopt;
  const Expr *condition = branch->getCond();
  Expr::EvalResult value;
  bool holds = false;
  if (condition->isValueDependent() || !condition->EvaluateAsRValue(value, ast) || value.HasSideEffects ||
      !condition->EvaluateAsBooleanCondition(holds, ast))
    return std::nullopt;
  return holds ? branch->getThen() : branch->getElse();
}

void findUntrackedVariables(const Stmt *body, const ASTContext &ast, std::set<const VarDecl *> &untracked,
                            LoopForms &forms, LoopMoves &moves, bool movesIntegers) {
  ChangeFinder finder(ast, untracked, forms, moves, movesIntegers);
  finder.TraverseStmt(const_cast<Stmt *>(body));
  finder.finish();
}

void ThreadReader::readParameters() {
  for (const ParmVarDecl *parameter : kernel->parameters()) {
    program.names.insert(parameter->getNameAsString());
    QualType type = parameter->getType();
    unsigned index = parameter->getFunctionScopeIndex();
    if (type.isVolatileQualified() || (type->isPointerType() && type->getPointeeType().isVolatileQualified()))
      return refuse("'" + parameter->getNameAsString() + "' is volatile");
    if (untracked.count(parameter))
      continue; // a scalar under its own name, or a pointer that is not understood
    if (type->isPointerType()) {
      Value value{Value::Address, {}, {}, {}};
      value.address.base = {kb::BaseKind::Argument, parameter->getNameAsString(), int(index), 0, Base::Global};
      value.address.element = type->getPointeeType();
      values[parameter] = value;
    } else if (type->isIntegralOrEnumerationType() && !type->isBooleanType() && ast.getTypeSize(type) >= 32) {
      Space::Variable symbol;
      symbol.kind = Space::Param;
      symbol.name = parameter->getNameAsString();
      symbol.argument = index;
      symbol.bits = ast.getTypeSize(type);
      symbol.isSigned = type->isSignedIntegerOrEnumerationType();
      if (symbol.bits == 32)
        symbol.high = symbol.isSigned ? (int64_t)INT32_MAX : (int64_t)UINT32_MAX;
      if (!symbol.isSigned)
        symbol.low = 0;
      values[parameter] = {Value::Number, ofType(Poly::variable(space.add(symbol)), type, true), {}, {}};
    }
  }
}

/// Whether the last thing that \p statement does is to leave the kernel or the iteration.
static bool endsInExit(const Stmt *statement) {
  if (const auto *block = llvm::dyn_cast_or_null<CompoundStmt>(statement))
    return !block->body_empty() && endsInExit(block->body_back());
  return llvm::isa_and_nonnull<ReturnStmt, ContinueStmt>(statement);
}

bool containsExit(const Stmt *statement) {
  if (!statement || llvm::isa<ForStmt, WhileStmt, DoStmt, LambdaExpr>(statement))
    return false;
  if (llvm::isa<ReturnStmt, ContinueStmt>(statement))
    return true;
  return llvm::any_of(statement->children(), [](const Stmt *child) { return containsExit(child); });
}

void ThreadReader::readSequence(llvm::ArrayRef<const Stmt *> statements, Body &out) {
  Body *outer = std::exchange(before, &out);
  loadedIndices.clear();
  llvm::scope_exit leave([&] {
    before = outer;
    loadedIndices.clear();
  });
  for (size_t i = 0; i < statements.size() && !failed(); ++i) {
    const Stmt *each = statements[i];
    if (!each)
      continue;
    llvm::ArrayRef<const Stmt *> rest = statements.drop_front(i + 1);
    if (const auto *attributed = llvm::dyn_cast<AttributedStmt>(each))
      each = attributed->getSubStmt();
    if (const auto *block = llvm::dyn_cast<CompoundStmt>(each)) {
      Statements inner(block->body_begin(), block->body_end());
      inner.append(rest.begin(), rest.end());
      return readSequence(inner, out);
    }
    if (const auto *branch = llvm::dyn_cast<IfStmt>(each)) {
      if (std::optional<const Stmt *> taken = constantSide(branch, ast)) {
        Statements inner;
        if (*taken)
          inner.push_back(*taken);
        inner.append(rest.begin(), rest.end());
        return readSequence(inner, out);
      }
      if (readLeave(branch, rest, out))
        return;
      if (containsExit(branch))
        return readIf(branch, rest, out);
      llvm::SaveAndRestore follows(somethingFollows, somethingFollows || !rest.empty());
      readIf(branch, {}, out);
      continue;
    }
    if (const auto *result = llvm::dyn_cast<ReturnStmt>(each)) {
      if (loopDepth)
        return refuse("returns from within a loop");
      if (inlined)
        readResult(result, out);
      return;
    }
    if (llvm::isa<ContinueStmt>(each))
      return;
    loadedIndices.clear(); // a store may change what was loaded
    llvm::SaveAndRestore follows(somethingFollows, somethingFollows || !rest.empty());
    readStatement(each, out);
  }
}

void ThreadReader::readGuarded(llvm::ArrayRef<const Stmt *> statements, Statement &condition) {
  size_t outer = given.size();
  given.append(condition.constraints.begin(), condition.constraints.end());
  readSequence(statements, condition.body);
  given.truncate(outer);
}

void ThreadReader::readIf(const IfStmt *branch, llvm::ArrayRef<const Stmt *> rest, Body &out) {
  if (branch->getInit() || branch->getConditionVariable())
    return refuse("an if statement declares a variable in its head");
  if (rest.empty() && readConditionalMaximum(branch, out))
    return;
  // What follows an exit belongs to the other side.
  Statements thenSide{branch->getThen()}, elseSide;
  if (branch->getElse())
    elseSide.push_back(branch->getElse());
  bool thenExits = endsInExit(branch->getThen()), elseExits = endsInExit(branch->getElse());
  if (!rest.empty()) {
    // What follows is then read once for each side.
    if (!thenExits && !elseExits && ++copies > 4)
      return refuse("a return or continue stands deep inside of conditions");
    if (!thenExits)
      thenSide.append(rest.begin(), rest.end());
    if (!elseExits)
      elseSide.append(rest.begin(), rest.end());
  }
  Statement taken, other;
  taken.kind = other.kind = Statement::If;
  readCondition(branch->getCond(), false, taken, out);
  if (failed())
    return;
  readGuarded(thenSide, taken);
  if (!elseSide.empty() && !taken.body.empty() && !isStable(taken, taken.body)) {
    // The condition is asked once.
    Statement asked;
    asked.kind = Statement::Let;
    asked.name = uniqueName("taken");
    asked.type = "bool";
    asked.value = std::exchange(taken.value, {});
    taken.value.text = asked.name;
    other.constraints = {};
    bool isPlain = taken.constraints.empty();
    if (!isPlain)
      return refuse("'" + sourceText(branch->getCond()) + "' may change in its own branch");
    out.push_back(std::move(asked));
    other.value.text = "!" + taken.value.text;
    readSequence(elseSide, other.body);
  } else if (!elseSide.empty()) {
    readCondition(branch->getCond(), true, other, out);
    readGuarded(elseSide, other);
  }
  other.isElse = !taken.body.empty();
  if (!taken.body.empty())
    out.push_back(std::move(taken));
  if (!other.body.empty())
    out.push_back(std::move(other));
}

void ThreadReader::readStatement(const Stmt *statement, Body &out) {
  if (llvm::isa<NullStmt>(statement))
    return;
  if (const auto *declaration = llvm::dyn_cast<DeclStmt>(statement)) {
    for (const Decl *each : declaration->decls())
      if (const auto *variable = llvm::dyn_cast<VarDecl>(each))
        readVariable(variable, out);
    return;
  }
  if (llvm::isa<ForStmt, WhileStmt, DoStmt>(statement)) {
    const ForStmt *loop = forms.asFor(statement, ast);
    if (loop || llvm::isa<ForStmt>(statement))
      return readFor(loop ? loop : llvm::cast<ForStmt>(statement), out);
  }
  if (const auto *choice = llvm::dyn_cast<SwitchStmt>(statement))
    return readSwitch(choice, out);
  if (const auto *expr = llvm::dyn_cast<Expr>(statement))
    return readExpression(expr, out);
  if (llvm::isa<BreakStmt>(statement))
    return refuse("leaves a loop by break");
  if (llvm::isa<AsmStmt>(statement))
    return refuse("has inline assembly");
  llvm::StringRef kind = llvm::isa<WhileStmt>(statement) ? "a while loop"
                         : llvm::isa<DoStmt>(statement)  ? "a do loop"
                                                         : "a statement";
  refuse("has " + kind.str() + ": '" + sourceText(statement) + "'");
}

//===-- Variables ---------------------------------------------------------===//

void ThreadReader::readShared(const VarDecl *variable) {
  if (values.count(variable))
    return; // of a function that is called more than once
  Pointer pointer;
  pointer.base = {kb::BaseKind::Global, variable->getNameAsString(), -1, 0, Base::Shared};
  pointer.element = variable->getType();
  SharedArray shared;
  shared.name = pointer.base.name;
  QualType element = variable->getType();
  Poly elements = Poly::constant(1);
  while (const auto *array = ast.getAsArrayType(element)) {
    const auto *sized = llvm::dyn_cast<ConstantArrayType>(array);
    // An invalid polynomial stands for a size that the launch gives.
    elements = sized ? elements * Poly::constant(sized->getSize().getZExtValue())
                     : Poly::constant(INT64_MAX) * Poly::constant(2);
    element = array->getElementType();
  }
  if (const auto *array = llvm::dyn_cast<IncompleteArrayType>(variable->getType()))
    pointer.element = array->getElementType();
  shared.type = typeText(element);
  shared.elements = elements;
  program.shared.push_back(shared);
  values[variable] = {Value::Address, {}, pointer, {}};
}

void ThreadReader::readVariable(const VarDecl *variable, Body &out) {
  if (variable->hasAttr<CUDASharedAttr>())
    return isLibraryStorage(variable->getType()) ? void() : readShared(variable);
  QualType type = variable->getType();
  const Expr *init = variable->getInit();
  std::string shown = "'" + variable->getNameAsString() + "'";
  if (type.isVolatileQualified())
    return refuse(shown + " is volatile");
  if (isThreadGroup(type))
    return;
  if (variable->isStaticLocal())
    return variable->isConstexpr() ? void() : refuse(shown + " is static");
  if (type->isPointerType()) {
    std::optional<Pointer> pointer;
    if (init && !untracked.count(variable))
      pointer = evaluatePointer(init);
    if (!pointer)
      return refuse("what " + shown + " points to is not understood");
    if (pointer->parts == 1)
      pointer->element = type->getPointeeType();
    values[variable] = {Value::Address, {}, *pointer, {}};
    return;
  }
  if (type->isReferenceType())
    return refuse(shown + " is a reference");
  if (type->isArrayType())
    return declareArray(variable, out);
  bool isNumber = type->isIntegralOrEnumerationType() && !type->isBooleanType() && ast.getTypeSize(type) >= 32;
  if (isNumber && !untracked.count(variable)) {
    if (!init) {
      values.erase(variable); // assigned before it is used
      return;
    }
    if (std::optional<Integer> number = evaluate(init)) {
      if (number->bits < ast.getTypeSize(type) && !demand(*number, init))
        return refuse("'" + sourceText(init) + "' is not understood");
      if (std::optional<Integer> converted = convert(*number, type)) {
        if (!demand(*converted, init))
          return refuse("'" + sourceText(init) + "' is not understood");
        values[variable] = {Value::Number, *converted, {}, {}};
        if (!converted->poly.isConstant())
          program.hints.push_back({converted->poly, uniqueName(variable->getName())});
        return;
      }
    }
  }
  if (failed() || declareVector(variable, init, out))
    return;
  declareScalar(variable, init, out);
}

void ThreadReader::declareScalar(const VarDecl *variable, const Expr *init, Body &out) {
  QualType type = variable->getType();
  Statement let;
  let.kind = Statement::Let;
  let.type = typeText(type.getUnqualifiedType());
  if (const auto *constructed = llvm::dyn_cast_or_null<CXXConstructExpr>(init);
      constructed && constructed->getNumArgs() == 0)
    init = nullptr;
  if (init)
    let.value = textOf(init, out);
  if (failed())
    return;
  let.name = uniqueName(variable->getName());
  bool isNumber = type->isIntegralOrEnumerationType() && !type->isBooleanType() && ast.getTypeSize(type) >= 32;
  values[variable] = {Value::Scalar, {}, {}, let.name};
  if (isNumber && !untracked.count(variable)) {
    let.symbol = addVarying(let.name, type);
    values[variable] = {Value::Number, ofType(Poly::variable(*let.symbol), type, true), {}, {}};
  }
  out.push_back(std::move(let));
}

//===-- Expressions as statements -----------------------------------------===//

void ThreadReader::readExpression(const Expr *expr, Body &out) {
  expr = strip(expr);
  if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(expr); cast && cast->getType()->isVoidType())
    return;
  if (const auto *binary = llvm::dyn_cast<BinaryOperator>(expr)) {
    if (binary->getOpcode() == BO_Comma) {
      readExpression(binary->getLHS(), out);
      return readExpression(binary->getRHS(), out);
    }
    if (binary->isAssignmentOp()) {
      llvm::StringRef opcode = binary->getOpcodeStr();
      return readAssignment(binary->getLHS(), binary->getRHS(), opcode.drop_back(), out);
    }
  }
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(expr); unary && unary->isIncrementDecrementOp())
    return readAssignment(unary->getSubExpr(), nullptr, unary->isIncrementOp() ? "+" : "-", out);
  if (const auto *operation = llvm::dyn_cast<CXXOperatorCallExpr>(expr); operation && operation->isAssignmentOp()) {
    std::string opcode = getOperatorSpelling(operation->getOperator());
    const FunctionDecl *callee = operation->getDirectCallee();
    bool isKnown = callee && ast.getSourceManager().isInSystemHeader(callee->getLocation());
    const auto *method = llvm::dyn_cast_or_null<CXXMethodDecl>(callee);
    isKnown |= method && (method->isTrivial() || method->isDefaulted());
    if (isKnown && operation->getNumArgs() == 2)
      return readAssignment(operation->getArg(0), operation->getArg(1), llvm::StringRef(opcode).drop_back(), out);
  }
  if (const auto *call = llvm::dyn_cast<CallExpr>(expr); call && readCall(call, out))
    return;
  if (const auto *choice = llvm::dyn_cast<ConditionalOperator>(expr); choice && readAssertion(choice, out))
    return;
  if (!expr->HasSideEffects(ast))
    return;
  refuse("'" + sourceText(expr) + "' is not understood");
}

/// assert(x) where x is the same for the whole launch: a requirement.
bool ThreadReader::readAssertion(const ConditionalOperator *choice, Body &out) {
  const auto *call = llvm::dyn_cast<CallExpr>(strip(choice->getFalseExpr()));
  const Expr *condition = strip(choice->getCond());
  if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(condition))
    condition = strip(cast->getSubExpr());
  if (!call || calleeName(call) != "__assert_fail" || choice->getTrueExpr()->HasSideEffects(ast))
    return false;
  Statement asserted;
  Body nothing;
  readCondition(condition, false, asserted, nothing);
  bool isUniform = asserted.value.text.empty() && nothing.empty();
  for (const Constraint &each : asserted.constraints)
    isUniform &= space.isUniform(each.poly);
  if (!isUniform || failed())
    return false;
  for (const Constraint &each : asserted.constraints) {
    require(each.poly);
    if (each.isEquality)
      require(Poly() - each.poly);
  }
  return true;
}

/// \p text as an operand of a binary operator.
static std::string operandText(const Expr *expr, const std::string &text) {
  expr = expr->IgnoreImplicit();
  bool isClosed = llvm::isa<ParenExpr, DeclRefExpr, IntegerLiteral, FloatingLiteral, ArraySubscriptExpr, CallExpr,
                            MemberExpr>(expr) &&
                  !llvm::isa<CXXOperatorCallExpr>(expr);
  return isClosed ? text : "(" + text + ")";
}

void ThreadReader::readAssignment(const Expr *left, const Expr *right, llvm::StringRef opcode, Body &out) {
  // `a = b = x;` is `b = x; a = b;`.
  const auto *inner = right ? llvm::dyn_cast<BinaryOperator>(strip(right)) : nullptr;
  if (inner && inner->isAssignmentOp() && !inner->getLHS()->HasSideEffects(ast)) {
    readExpression(inner, out);
    right = inner->getLHS();
    if (failed())
      return;
  }
  const VarDecl *variable = variableOf(left);
  bool isLocal = variable && (variable->isLocalVarDeclOrParm()) && !variable->hasAttr<CUDASharedAttr>();
  if (isLocal && readCombine(left, right, opcode, out))
    return;
  if (failed() || (opcode.empty() && assignVector(left, right, out)) || assignPart(left, right, opcode, out))
    return;
  Statement result;
  auto append = [&](const std::string &before) {
    Text value = right ? textOf(right, out) : Text{"1", {}};
    result.value.operands = value.operands;
    result.value.text = opcode.empty() ? value.text
                                       : before + " " + opcode.str() + " " +
                                             (right ? operandText(right, value.text) : value.text);
  };
  if (isLocal) {
    QualType type = variable->getType();
    if (type->isPointerType())
      if (std::optional<Pointer> pointer; opcode.empty() && !untracked.count(variable)) {
        pointer = evaluatePointer(right);
        if (!pointer)
          return refuse("what '" + variable->getNameAsString() + "' points to is not understood");
        values[variable] = {Value::Address, {}, *pointer, {}};
        return;
      }
    if (type->isPointerType()) {
      auto at = values.find(variable);
      std::optional<Integer> offset = right ? evaluate(right) : Integer{Poly::constant(1)};
      if (untracked.count(variable) || at == values.end() || at->second.kind != Value::Address || !offset ||
          !demand(*offset, right) || (opcode != "+" && opcode != "-"))
        return refuse("'" + variable->getNameAsString() + "' moves in a way that is not understood");
      Poly &moved = at->second.address.offset;
      Poly by = offset->poly * Poly::constant(at->second.address.parts);
      moved = opcode == "+" ? moved + by : moved - by;
      return;
    }
    bool isNumber = type->isIntegralOrEnumerationType() && !type->isBooleanType() && ast.getTypeSize(type) >= 32;
    if (isNumber && !untracked.count(variable))
      return readNumberAssignment(variable, left, right, opcode, out);
    auto at = values.find(variable);
    if (at == values.end() || at->second.kind != Value::Scalar)
      return refuse("changes its parameter '" + variable->getNameAsString() + "'");
    result.kind = Statement::Assign;
    result.name = at->second.name;
    append(result.name);
    out.push_back(std::move(result));
    return;
  }
  std::optional<Operand> target = evaluateElement(left);
  if (!target)
    return refuse("the address of '" + sourceText(left) + "' is not understood");
  result.kind = Statement::Store;
  if (!opcode.empty())
    result.value.operands.push_back(*target);
  // The holes of the right-hand side follow that of the old value.
  Text value = right ? textOf(right, out) : Text{"1", {}};
  if (opcode.empty()) {
    result.value = std::move(value);
  } else {
    std::string shifted = shiftHoles(value.text, 1);
    result.value.text = "$0 " + opcode.str() + " " + (right ? operandText(right, shifted) : shifted);
    for (Operand &operand : value.operands)
      result.value.operands.push_back(std::move(operand));
  }
  result.target = std::move(*target);
  out.push_back(std::move(result));
}

/// An integer whose value is followed: nothing is emitted unless it is no polynomial.
void ThreadReader::readNumberAssignment(const VarDecl *variable, const Expr *left, const Expr *right,
                                        llvm::StringRef opcode, Body &out) {
  QualType type = variable->getType();
  std::optional<Integer> number = right ? evaluate(right) : Integer{Poly::constant(1)};
  if (!opcode.empty()) {
    std::optional<Integer> old = evaluate(left);
    std::optional<BinaryOperatorKind> kind = llvm::StringSwitch<std::optional<BinaryOperatorKind>>(opcode)
                                                 .Case("+", BO_Add).Case("-", BO_Sub).Case("*", BO_Mul)
                                                 .Case("/", BO_Div).Case("%", BO_Rem).Case("<<", BO_Shl)
                                                 .Case(">>", BO_Shr).Case("&", BO_And)
                                                 .Default(std::nullopt);
    QualType common = right && ast.getTypeSize(right->getType()) > ast.getTypeSize(type) ? right->getType() : type;
    if (right && right->getType()->isUnsignedIntegerType() && ast.getTypeSize(right->getType()) >= ast.getTypeSize(type))
      common = right->getType();
    number = old && kind && number ? arithmetic(*kind, *old, *number, common, right ? right : left) : std::nullopt;
    if (!number)
      return declareUpdated(variable, left, right, opcode, out);
  }
  if (number && (number->bits >= ast.getTypeSize(type) || demand(*number, left)))
    if (std::optional<Integer> converted = convert(*number, type); converted && demand(*converted, left)) {
      values[variable] = {Value::Number, *converted, {}, {}};
      return;
    }
  declareScalar(variable, right, out);
}

/// `i /= n` where that is no polynomial: an integer of its own.
void ThreadReader::declareUpdated(const VarDecl *variable, const Expr *left, const Expr *right,
                                  llvm::StringRef opcode, Body &out) {
  Statement let;
  let.kind = Statement::Let;
  let.type = typeText(variable->getType().getUnqualifiedType());
  let.value = textOf(left, out);
  Text other = right ? textOf(right, out) : Text{"1", {}};
  if (failed())
    return;
  std::string shifted = shiftHoles(other.text, let.value.operands.size());
  let.value.text += " " + opcode.str() + " " + (right ? operandText(right, shifted) : shifted);
  for (Operand &operand : other.operands)
    let.value.operands.push_back(std::move(operand));
  let.name = uniqueName(variable->getName());
  let.symbol = addVarying(let.name, variable->getType());
  values[variable] = {Value::Number, ofType(Poly::variable(*let.symbol), variable->getType(), true), {}, {}};
  out.push_back(std::move(let));
}

bool ThreadReader::readCall(const CallExpr *call, Body &out) {
  llvm::StringRef name = calleeName(call);
  Statement result;
  if (name == "__syncthreads" || name == "__syncwarp" || name == "sync") {
    const FunctionDecl *callee = call->getDirectCallee();
    if (name == "sync" && callee->getQualifiedNameAsString().find("cooperative_groups") == std::string::npos)
      return false;
    result.kind = Statement::Barrier;
    result.function = name.str();
    if (const auto *member = llvm::dyn_cast<CXXMemberCallExpr>(call))
      result.value.text = sourceText(member->getImplicitObjectArgument());
    out.push_back(std::move(result));
    return true;
  }
  if (name.starts_with("atomic") && call->getNumArgs() == 2)
    return readAtomic(call, name, out);
  static const llvm::StringSet<> stores = {"__stcs", "__stcg", "__stwb", "__stwt"};
  if (stores.contains(name) && call->getNumArgs() == 2) {
    std::optional<Pointer> pointer = evaluatePointer(call->getArg(0));
    if (!pointer)
      return false;
    if (pointer->parts > 1)
      return storeVector(*pointer, call->getArg(1), out);
    result.kind = Statement::Store;
    result.target = elementAt(*pointer);
    result.value = textOf(call->getArg(1), out);
    out.push_back(std::move(result));
    return true;
  }
  return readSineCosine(call, name, out) || inlineCall(call, out).has_value();
}

/// `sincosf(x, &s, &c)` sets s and c.
bool ThreadReader::readSineCosine(const CallExpr *call, llvm::StringRef name, Body &out) {
  bool isFloat = name == "sincosf" || name == "__sincosf", isDouble = name == "sincos";
  const FunctionDecl *callee = call->getDirectCallee();
  if ((!isFloat && !isDouble) || call->getNumArgs() != 3 ||
      !ast.getSourceManager().isInSystemHeader(callee->getLocation()))
    return false;
  std::string prefix = name.starts_with("__") ? "__" : "", suffix = isFloat ? "f" : "";
  Statement angle;
  angle.kind = Statement::Let;
  angle.type = isFloat ? "float" : "double";
  angle.value = textOf(call->getArg(0), out);
  Body results;
  for (unsigned i : {1, 2}) {
    const auto *address = llvm::dyn_cast<UnaryOperator>(strip(call->getArg(i)));
    const VarDecl *variable = address && address->getOpcode() == UO_AddrOf ? variableOf(address->getSubExpr()) : nullptr;
    auto at = values.find(variable);
    if (failed() || !variable || at == values.end() || at->second.kind != Value::Scalar)
      return false;
    Statement set;
    set.kind = Statement::Assign;
    set.name = at->second.name;
    set.value.text = prefix + (i == 1 ? "sin" : "cos") + suffix + "(";
    results.push_back(std::move(set));
  }
  angle.name = uniqueName("angle");
  for (Statement &set : results)
    set.value.text += angle.name + ")";
  out.push_back(std::move(angle));
  for (Statement &set : results)
    out.push_back(std::move(set));
  return true;
}

bool ThreadReader::readAtomic(const CallExpr *call, llvm::StringRef name, Body &out) {
  std::optional<Pointer> pointer = evaluatePointer(call->getArg(0));
  if (!pointer)
    return false;
  Statement result;
  result.kind = Statement::Atomic;
  result.function = name.str();
  result.target = elementAt(*pointer);
  result.value = textOf(call->getArg(1), out);
  if (name == "atomicAdd") {
    result.reduction = "add";
    result.combine = "%a + %b";
    result.identity = "0";
  }
  out.push_back(std::move(result));
  return true;
}

std::string shiftHoles(llvm::StringRef text, unsigned by) {
  std::string result;
  for (size_t at; (at = text.find('$')) != llvm::StringRef::npos;) {
    result += text.take_front(at + 1);
    text = text.drop_front(at + 1);
    unsigned hole = 0;
    text.consumeInteger(10, hole);
    result += std::to_string(hole + by);
  }
  return result + text.str();
}

} // namespace kbopt::raise
