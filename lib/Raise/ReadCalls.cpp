//===- ReadCalls.cpp - Device functions in their callers' place ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the inlining of functions that take pointers or know of threads, and the groups
// of cooperative_groups.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace clang;

namespace kbopt::raise {

bool isThreadGroup(QualType type) {
  const auto *record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record &&
         record->getQualifiedNameAsString().find("cooperative_groups") != std::string::npos;
}

static bool isOfCub(const NamedDecl *declaration) {
  return declaration &&
         llvm::StringRef(declaration->getQualifiedNameAsString()).starts_with("cub::");
}

bool isLibraryStorage(QualType type) {
  const auto *record = type->getAsCXXRecordDecl();
  return isOfCub(record) && record->getIdentifier() && record->getName().ends_with("TempStorage");
}

std::string ThreadReader::functorText(const Expr *functor) const {
  const CXXRecordDecl *record = functor->getType().getNonReferenceType()->getAsCXXRecordDecl();
  if (!record)
    return "";
  if (ast.getSourceManager().isInSystemHeader(record->getLocation()))
    return sourceText(functor);
  // The user's own: one function that returns the greater, the lesser or the sum of its two
  // parameters.
  const CXXMethodDecl *only = nullptr;
  auto consider = [&](const CXXMethodDecl *method) {
    if (method && method->getOverloadedOperator() == OO_Call)
      only = only ? nullptr : method;
  };
  for (const Decl *each : record->decls()) {
    if (const auto *pattern = llvm::dyn_cast<FunctionTemplateDecl>(each))
      for (const FunctionDecl *instance : pattern->specializations())
        consider(llvm::dyn_cast<CXXMethodDecl>(instance));
    else
      consider(llvm::dyn_cast<CXXMethodDecl>(each));
  }
  const auto *body = only ? llvm::dyn_cast_or_null<CompoundStmt>(only->getBody()) : nullptr;
  const auto *result =
      body && body->size() == 1 ? llvm::dyn_cast<ReturnStmt>(body->body_front()) : nullptr;
  if (!result || only->getNumParams() != 2 || !result->getRetValue())
    return "";
  const VarDecl *first = only->getParamDecl(0), *second = only->getParamDecl(1);
  auto areBoth = [&](const Expr *a, const Expr *b) {
    const VarDecl *left = variableOf(a), *right = variableOf(b);
    return (left == first && right == second) || (left == second && right == first);
  };
  const Expr *value = strip(result->getRetValue());
  if (const auto *call = llvm::dyn_cast<CallExpr>(value);
      call && call->getNumArgs() == 2 && call->getDirectCallee() &&
      ast.getSourceManager().isInSystemHeader(call->getDirectCallee()->getLocation()) &&
      areBoth(call->getArg(0), call->getArg(1))) {
    llvm::StringRef name = calleeName(call);
    if (name == "max" || name == "fmaxf" || name == "fmax")
      return "cub::Max()";
    return name == "min" || name == "fminf" || name == "fmin" ? "cub::Min()" : "";
  }
  const auto *sum = llvm::dyn_cast<BinaryOperator>(value);
  return sum && sum->getOpcode() == BO_Add && areBoth(sum->getLHS(), sum->getRHS()) ? "cub::Sum()"
                                                                                    : "";
}

std::optional<Operand> ThreadReader::blockReduction(const CallExpr *call, Body &out) {
  const auto *member = llvm::dyn_cast<CXXMemberCallExpr>(call);
  const auto *group =
      member ? llvm::dyn_cast_or_null<ClassTemplateSpecializationDecl>(member->getRecordDecl())
             : nullptr;
  llvm::StringRef name = calleeName(call);
  bool isSum = name == "Sum" && call->getNumArgs() == 1,
       isReduce = name == "Reduce" && call->getNumArgs() == 2;
  if (!isOfCub(group) || group->getName() != "BlockReduce" || (!isSum && !isReduce) ||
      !call->getArg(0)->getType().getNonReferenceType()->isArithmeticType())
    return std::nullopt;
  // <T, width, algorithm, height, depth>
  llvm::SmallVector<int64_t> sizes;
  for (const TemplateArgument &argument : group->getTemplateArgs().asArray())
    if (argument.getKind() == TemplateArgument::Integral &&
        argument.getIntegralType()->isSpecificBuiltinType(BuiltinType::Int))
      sizes.push_back(argument.getAsIntegral().getExtValue());
  bool isRow = !sizes.empty();
  for (size_t i = 1; i < 3 && i < sizes.size(); ++i)
    isRow &= sizes[i] == 1;
  if (!isRow)
    refuse("the threads of a block work together in two dimensions");
  if (failed())
    return std::nullopt;
  Operand operand;
  operand.kind = Operand::Collective;
  operand.function = "block_reduce";
  operand.type = typeText(call->getType().getUnqualifiedType());
  std::string functor = isSum ? "cub::Sum()" : functorText(call->getArg(1));
  if (functor.empty())
    refuse("what '" + sourceText(call->getArg(1)) + "' makes of two values is not understood");
  operand.arguments = {{std::to_string(sizes[0]), {}}, textOf(call->getArg(0), out), {functor, {}}};
  return operand;
}

/// How many threads a tile has; 0 for a block, nothing for other groups.
static std::optional<int64_t> groupSize(QualType type) {
  const auto *record = type.getNonReferenceType()->getAsCXXRecordDecl();
  if (!record || !isThreadGroup(type))
    return std::nullopt;
  if (record->getName() == "thread_block")
    return 0;
  const auto *tile = llvm::dyn_cast<ClassTemplateSpecializationDecl>(record);
  if (!tile || record->getName() != "thread_block_tile" ||
      tile->getTemplateArgs()[0].getKind() != TemplateArgument::Integral)
    return std::nullopt;
  return tile->getTemplateArgs()[0].getAsIntegral().getExtValue();
}

std::string groupSizeText(QualType type) {
  std::optional<int64_t> size = groupSize(type);
  return size && *size ? std::to_string(*size) : "";
}

std::optional<Integer> ThreadReader::evaluateGroup(const CallExpr *call) {
  // Some of these members are static.
  const auto *member = llvm::dyn_cast<MemberExpr>(call->getCallee()->IgnoreParenImpCasts());
  std::optional<int64_t> size =
      member ? groupSize(strip(member->getBase())->getType()) : std::nullopt;
  llvm::StringRef name = calleeName(call);
  if (!size || call->getNumArgs())
    return std::nullopt;
  Poly tid = Poly::variable(analysis::TidVar), bdim = Poly::variable(analysis::BdimVar),
       width = Poly::constant(*size);
  std::optional<Poly> value;
  if (name == "thread_rank")
    value = *size ? space.mod(tid, width) : tid;
  else if (name == "size" || name == "num_threads")
    value = *size ? width : bdim;
  else if (name == "meta_group_rank" && *size)
    value = space.floorDiv(tid, width);
  else if (name == "meta_group_size" && *size)
    value = space.floorDiv(bdim + width - Poly::constant(1), width);
  if (!value)
    return std::nullopt;
  // Ranks count along x first.
  for (unsigned axis : {1, 2})
    require(Poly::constant(1) - Poly::variable(analysis::BdimVar + axis));
  return ofType(*value, call->getType(), true);
}

bool ThreadReader::readsTwice(const Stmt *statement) {
  const auto *branch = llvm::dyn_cast<IfStmt>(statement);
  return (branch && choices.count(branch)) || choiceOf(statement) ||
         llvm::any_of(statement->children(),
                      [&](const Stmt *child) { return child && readsTwice(child); });
}

static unsigned countReturns(const Stmt *statement) {
  unsigned count = llvm::isa<ReturnStmt>(statement);
  for (const Stmt *child : statement->children())
    if (child)
      count += countReturns(child);
  return count;
}

bool ThreadReader::bindParameter(const ParmVarDecl *parameter, const Expr *argument, Body &out) {
  QualType type = parameter->getType();
  bool isReference = type->isReferenceType();
  if (isThreadGroup(type)) {
    values.erase(parameter);
    return true;
  }
  pointees.erase(parameter);
  arrays.erase(parameter);
  if (auto own = arrays.find(variableOf(argument)); own != arrays.end()) { // an array of the thread
    bool isWhole = type->isPointerType() || type.getNonReferenceType()->isArrayType();
    if (!isWhole || untracked.count(parameter))
      return false;
    values.erase(parameter);
    LocalArray passed = own->second;
    arrays[parameter] = std::move(passed);
    return true;
  }
  if (std::optional<Value> pointee = type->isPointerType() ? pointeeOf(argument) : std::nullopt) {
    if (untracked.count(parameter))
      return false;
    values.erase(parameter);
    pointees[parameter] = *pointee;
    return true;
  }
  if (type->isPointerType() || type.getNonReferenceType()->isArrayType()) {
    std::optional<Pointer> pointer =
        isReference ? evaluateArray(argument) : evaluatePointer(argument);
    if (!pointer || untracked.count(parameter))
      return false;
    if (!isReference && pointer->parts == 1)
      pointer->element = type->getPointeeType();
    values[parameter] = {Value::Address, {}, *pointer, {}};
    return true;
  }
  if (isReference && !type.getNonReferenceType().isConstQualified()) {
    std::optional<Value> place = placeAt(argument);
    if (place) {
      values[parameter] = *place;
      return true;
    }
    QualType named = type.getNonReferenceType();
    std::optional<Pointer> pointer = placeInMemory(argument);
    if (!pointer ||
        !ast.hasSameUnqualifiedType(pointer->parts > 1 ? pointer->whole : pointer->element,
                                    named) ||
        named->isPointerType() || named.isVolatileQualified() || untracked.count(parameter))
      return false;
    hasFields |= pointer->parts > 1;
    values[parameter] = {Value::Address, {}, *pointer, {}};
    return true;
  }
  type = type.getNonReferenceType();
  bool isNumber =
      type->isIntegralOrEnumerationType() && !type->isBooleanType() && ast.getTypeSize(type) >= 32;
  if (isNumber && !untracked.count(parameter))
    if (std::optional<Integer> value = evaluate(argument)) {
      if (!demand(*value, argument))
        return false;
      values[parameter] = {Value::Number, *value, {}, {}};
      return true;
    }
  if (!declareVector(parameter, argument, out) && !failed())
    declareScalar(parameter, argument, out);
  return !failed();
}

std::optional<Value> ThreadReader::placeAt(const Expr *lvalue) {
  if (const std::string *name = partName(lvalue))
    return Value{Value::Scalar, {}, {}, *name};
  const Value *value = valueAt(lvalue);
  bool isPlace = value && (value->kind == Value::Scalar || value->kind == Value::Vector);
  return isPlace ? std::optional(*value) : std::nullopt;
}

std::optional<Value> ThreadReader::pointeeOf(const Expr *pointer) {
  pointer = strip(pointer);
  const auto *address = llvm::dyn_cast<UnaryOperator>(pointer);
  if (address && address->getOpcode() == UO_AddrOf)
    return placeAt(address->getSubExpr());
  const Value *value = valueAt(pointer, true);
  return value ? std::optional(*value) : std::nullopt;
}

/// Whether what \p lambda copies is never changed.
static bool capturesConstants(const CXXRecordDecl *lambda, const FunctionDecl *kernel) {
  return llvm::all_of(lambda->captures(), [&](const LambdaCapture &capture) {
    const auto *variable =
        capture.capturesVariable() ? llvm::dyn_cast<VarDecl>(capture.getCapturedVar()) : nullptr;
    bool isReference = capture.getCaptureKind() == LCK_ByRef;
    return variable && (isReference || !changesVariable(kernel->getBody(), variable));
  });
}

bool ThreadReader::bindObject(const CallExpr *call, const CXXMethodDecl *method,
                              llvm::SmallVectorImpl<const Expr *> &arguments, const Expr *&called,
                              std::optional<View> &seen) {
  if (method->isVirtual() || llvm::isa<CXXConstructorDecl, CXXDestructorDecl>(method))
    return false;
  if (method->isStatic())
    return !llvm::isa<CXXOperatorCallExpr>(call);
  const Expr *whole = nullptr;
  if (const auto *member = llvm::dyn_cast<CXXMemberCallExpr>(call)) {
    whole = strip(member->getImplicitObjectArgument());
  } else if (llvm::isa<CXXOperatorCallExpr>(call) && !arguments.empty()) {
    whole = strip(arguments.front());
    arguments.erase(arguments.begin());
  }
  if (whole && (seen = viewOf(whole)))
    return true;
  if (whole && llvm::isa<CXXThisExpr>(whole))
    whole = object;
  else if (whole && mentionsThis(whole))
    return false;
  if (!whole)
    return false;
  const CXXRecordDecl *record = method->getParent();
  bool isDerived = whole->getType()->getAsCXXRecordDecl() != record;
  if (record->isLambda())
    return variableOf(whole) && variableOf(whole)->isLocalVarDecl() &&
           capturesConstants(record, kernel);
  if (record->isEmpty())
    return !whole->HasSideEffects(ast);
  const auto *parameter = llvm::dyn_cast_or_null<ParmVarDecl>(variableOf(whole));
  bool isGiven = parameter && parameter->getDeclContext() == kernel && !untracked.count(parameter);
  const Value *value = valueAt(whole);
  bool isElement = method->isConst() && evaluateElement(whole);
  std::optional<Pointer> place = hasFields && !isElement ? placeInMemory(whole) : std::nullopt;
  isElement |= place && !place->whole.isNull();
  called = whole;
  return (!isDerived || isGiven) &&
         ((value && value->kind == Value::Vector) || isElement ||
          (isGiven && (method->isConst() || (call->isGLValue() && onlyReturn(method)))));
}

const Expr *ThreadReader::objectOf(const MemberExpr *member) const {
  const Expr *base = strip(member->getBase());
  return object && llvm::isa<CXXThisExpr>(base) ? object : base;
}

bool ThreadReader::isArrow(const MemberExpr *member) const {
  return member->isArrow() && !(object && llvm::isa<CXXThisExpr>(strip(member->getBase())));
}

std::optional<Text> ThreadReader::inlineCall(const CallExpr *call, Body &out) {
  const FunctionDecl *callee = call->getDirectCallee(), *definition = nullptr;
  if (!callee || !callee->isDefined(definition) || !definition->getBody() || inlineDepth >= 4 ||
      failed() || ast.getSourceManager().isInSystemHeader(definition->getLocation()) ||
      definition->isVariadic())
    return std::nullopt;
  llvm::SmallVector<const Expr *> arguments(call->arguments());
  const Expr *called = nullptr;
  std::optional<View> seen;
  if (const auto *method = llvm::dyn_cast<CXXMethodDecl>(definition))
    if (!bindObject(call, method, arguments, called, seen))
      return std::nullopt;
  const Stmt *body = definition->getBody();
  findUntrackedVariables(body, ast, untracked, forms, moves, choices, false);
  for (auto [parameter, argument] : llvm::zip(definition->parameters(), arguments))
    if (!bindParameter(parameter, argument, out))
      return std::nullopt;
  Inlined here;
  const auto *block = llvm::dyn_cast<CompoundStmt>(body);
  unsigned returns = countReturns(body);
  here.isOnlyReturn = returns == 1 && block && !block->body_empty() &&
                      llvm::isa<ReturnStmt>(block->body_back()) && !readsTwice(body);
  here.type = typeText(definition->getReturnType().getUnqualifiedType());
  if (!definition->getReturnType()->isVoidType() && !here.isOnlyReturn) {
    Statement result;
    result.kind = Statement::Let;
    result.type = here.type;
    here.name = result.name = uniqueName(definition->getNameAsString() + "_result");
    out.push_back(std::move(result));
  }
  Inlined *outer = std::exchange(inlined, &here);
  const Expr *outerObject = std::exchange(object, called);
  llvm::SaveAndRestore<const View *> outerView(view, seen ? &*seen : nullptr);
  unsigned depth = std::exchange(loopDepth, 0);
  std::vector<Frame> loopsAround = std::exchange(frames, {});
  llvm::SaveAndRestore lifts(isLifting, false);
  llvm::SaveAndRestore outerNested(nested, {});
  std::string outerStays = std::exchange(stays, "");
  if (hasReturnInLoop(body)) {
    stays = uniqueName("stays");
    out.push_back(flagOf(stays));
  }
  ++inlineDepth;
  readSequence({body}, out);
  --inlineDepth;
  loopDepth = depth;
  frames = std::move(loopsAround);
  stays = std::move(outerStays);
  inlined = outer;
  object = outerObject;
  if (failed())
    return std::nullopt;
  if (here.isOnlyReturn)
    return here.result;
  return Text{here.name, {}};
}

std::optional<Pointer> ThreadReader::placeOfCall(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee(), *definition = nullptr;
  const bool isPlace = call->isGLValue();
  if (!callee || !(isPlace || call->getType()->isPointerType()) || !callee->isDefined(definition) ||
      inlineDepth > 4 || ast.getSourceManager().isInSystemHeader(definition->getLocation()))
    return std::nullopt;
  const Expr *result = onlyReturn(definition), *called = nullptr;
  std::optional<View> seen;
  llvm::SmallVector<const Expr *> arguments(call->arguments());
  if (!result || result->HasSideEffects(ast))
    return std::nullopt;
  if (const auto *method = llvm::dyn_cast<CXXMethodDecl>(definition))
    if (!bindObject(call, method, arguments, called, seen))
      return std::nullopt;
  for (auto [parameter, argument] : llvm::zip(definition->parameters(), arguments)) {
    if (parameter->getType()->isPointerType()) {
      std::optional<Pointer> pointer = evaluatePointer(argument);
      if (!pointer)
        return std::nullopt;
      values[parameter] = {Value::Address, {}, *pointer, {}};
      continue;
    }
    std::optional<Integer> index = evaluateIndex(argument);
    std::optional<Integer> value =
        index ? convert(*index, parameter->getType().getNonReferenceType()) : std::nullopt;
    if (!value || !demand(*value, argument))
      return std::nullopt;
    values[parameter] = {Value::Number, *value, {}, {}};
  }
  llvm::SaveAndRestore depth(inlineDepth, inlineDepth + 1);
  llvm::SaveAndRestore outer(object, called ? called : object);
  llvm::SaveAndRestore<const View *> outerView(view, seen ? &*seen : called ? nullptr : view);
  return isPlace ? placeInMemory(result) : evaluatePointer(result);
}

void ThreadReader::readResult(const ReturnStmt *statement, Body &out) {
  const Expr *value = statement->getRetValue();
  if (!value)
    return;
  Inlined *here = inlined;
  liftNested(value, out);
  Text text = textOf(value, out);
  if (failed())
    return;
  if (here->isOnlyReturn) {
    bool isName = llvm::all_of(text.text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    // What belongs to the caller may change before the result is used.
    const VarDecl *variable = variableOf(value);
    bool isOthers = partName(value) || (variable && variable->getType()->isReferenceType());
    if (isName && !isOthers) {
      here->result = std::move(text);
      return;
    }
  }
  Statement result;
  result.kind = here->isOnlyReturn ? Statement::Let : Statement::Assign;
  result.name = here->isOnlyReturn ? uniqueName("result") : here->name;
  result.type = here->type;
  result.value = std::move(text);
  here->result = {result.name, {}};
  out.push_back(std::move(result));
}

} // namespace kbopt::raise
