//===- ReadViews.cpp - Objects that are computed ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is known of objects that only stand for a part of others: `a[i]` of an accessor with
// two dimensions is one with one, whose fields are pointers into the first one's data and strides.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace clang;

namespace kbopt::raise {

/// \p expr without casts that make no other object of it.
static const Expr *plain(const Expr *expr) {
  for (expr = strip(expr);;) {
    if (const auto *cast = llvm::dyn_cast<CXXFunctionalCastExpr>(expr))
      expr = strip(cast->getSubExpr());
    else if (const auto *temporary = llvm::dyn_cast<CXXBindTemporaryExpr>(expr))
      expr = strip(temporary->getSubExpr());
    else
      return expr;
  }
}

std::optional<ThreadReader::View> ThreadReader::viewOf(const Expr *expr) {
  expr = plain(expr);
  if (const VarDecl *variable = variableOf(expr)) {
    auto known = views.find(variable);
    return known == views.end() || untracked.count(variable) ? std::nullopt
                                                             : std::optional(known->second);
  }
  if (llvm::isa<CXXThisExpr>(expr))
    return view ? std::optional(*view) : std::nullopt;
  if (const auto *made = llvm::dyn_cast<CXXConstructExpr>(expr))
    return viewOfConstructor(made);
  if (const auto *call = llvm::dyn_cast<CallExpr>(expr))
    return viewOfCall(call);
  return std::nullopt;
}

std::optional<ThreadReader::View> ThreadReader::viewOfConstructor(const CXXConstructExpr *expr) {
  const FunctionDecl *definition = nullptr;
  if (expr->getConstructor()->isCopyOrMoveConstructor() && expr->getNumArgs() == 1)
    return viewOf(expr->getArg(0));
  if (inlineDepth > 4 || !expr->getConstructor()->hasBody(definition))
    return std::nullopt;
  const auto *body = llvm::dyn_cast<CompoundStmt>(definition->getBody());
  llvm::SmallVector<const Expr *> arguments(expr->arguments());
  llvm::SaveAndRestore depth(inlineDepth, inlineDepth + 1);
  if (!body || !body->body_empty() || !bindParts(definition, arguments))
    return std::nullopt;
  View made;
  for (const CXXCtorInitializer *init : llvm::cast<CXXConstructorDecl>(definition)->inits()) {
    if (const auto *base = llvm::dyn_cast<CXXConstructExpr>(plain(init->getInit()));
        base && init->isBaseInitializer()) {
      std::optional<View> own = viewOfConstructor(base);
      if (!own)
        return std::nullopt;
      made.merge(*own);
      continue;
    }
    if (!init->isMemberInitializer())
      return std::nullopt;
    const FieldDecl *field = init->getMember();
    std::optional<ViewPart> part = partOf(init->getInit(), field->getType());
    if (!part)
      return std::nullopt;
    made[field->getCanonicalDecl()] = std::move(*part);
  }
  return made;
}

std::optional<ThreadReader::View> ThreadReader::viewOfCall(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee(), *definition = nullptr;
  if (!callee || inlineDepth > 4 || !callee->hasBody(definition) ||
      !call->getType()->isRecordType())
    return std::nullopt;
  llvm::SmallVector<const Expr *> arguments(call->arguments());
  const Expr *called = nullptr;
  std::optional<View> outer;
  if (const auto *method = llvm::dyn_cast<CXXMethodDecl>(definition);
      method && !method->isStatic()) {
    const auto *member = llvm::dyn_cast<CXXMemberCallExpr>(call);
    if (!member && (!llvm::isa<CXXOperatorCallExpr>(call) || arguments.empty()))
      return std::nullopt;
    called = strip(member ? member->getImplicitObjectArgument() : arguments.front());
    if (!member)
      arguments.erase(arguments.begin());
    const auto *parameter = llvm::dyn_cast_or_null<ParmVarDecl>(variableOf(called));
    bool isGiven = parameter && parameter->getDeclContext() == kernel &&
                   !parameter->getType()->isReferenceType() && !untracked.count(parameter);
    if (!isGiven && !(outer = viewOf(called)))
      return std::nullopt;
  }
  // Declarations of values that are followed, and the result.
  const auto *body = llvm::dyn_cast<CompoundStmt>(definition->getBody());
  if (!body || body->body_empty() || !bindParts(definition, arguments))
    return std::nullopt;
  llvm::SaveAndRestore depth(inlineDepth, inlineDepth + 1);
  llvm::SaveAndRestore outerObject(object, outer ? nullptr : called);
  llvm::SaveAndRestore<const View *> outerView(view, outer ? &*outer : nullptr);
  for (const Stmt *each : llvm::drop_end(body->body())) {
    const auto *declarations = llvm::dyn_cast<DeclStmt>(each);
    if (!declarations)
      return std::nullopt;
    for (const Decl *declaration : declarations->decls()) {
      const auto *variable = llvm::dyn_cast<VarDecl>(declaration);
      if (!variable) // a name for a type
        continue;
      std::optional<ViewPart> part =
          variable->getInit() ? partOf(variable->getInit(), variable->getType()) : std::nullopt;
      if (!part)
        return std::nullopt;
      bindPart(variable, std::move(*part));
    }
  }
  const auto *result = llvm::dyn_cast<ReturnStmt>(body->body_back());
  return result && result->getRetValue() ? viewOf(result->getRetValue()) : std::nullopt;
}

std::optional<ThreadReader::ViewPart> ThreadReader::partOf(const Expr *expr, QualType type) {
  ViewPart part;
  if (type->isPointerType()) {
    if (std::optional<Pointer> pointer = evaluatePointer(expr))
      part.value = Value{Value::Address, {}, *pointer, {}};
    else if (!(part.table = tableOf(expr)))
      return std::nullopt;
    return part;
  }
  type = type.getNonReferenceType();
  if (type->isRecordType()) {
    part.view = viewOf(expr);
    return part.view ? std::optional(part) : std::nullopt;
  }
  std::optional<Integer> number = evaluateIndex(expr);
  number = number ? convert(*number, type) : std::nullopt;
  if (!number || !demand(*number, expr))
    return std::nullopt;
  part.value = Value{Value::Number, *number, {}, {}};
  return part;
}

void ThreadReader::bindPart(const VarDecl *variable, ViewPart part) {
  values.erase(variable);
  tables.erase(variable);
  views.erase(variable);
  if (part.value)
    values[variable] = std::move(*part.value);
  else if (part.table)
    tables[variable] = std::move(*part.table);
  else if (part.view)
    views[variable] = std::move(*part.view);
}

bool ThreadReader::bindParts(const FunctionDecl *function, llvm::ArrayRef<const Expr *> arguments) {
  if (arguments.size() != function->getNumParams())
    return false;
  std::vector<ViewPart> parts;
  for (auto [parameter, argument] : llvm::zip(function->parameters(), arguments)) {
    std::optional<ViewPart> part = partOf(argument, parameter->getType());
    if (!part)
      return false;
    parts.push_back(std::move(*part));
  }
  for (auto [parameter, part] : llvm::zip(function->parameters(), parts))
    bindPart(parameter, std::move(part));
  return true;
}

std::optional<ThreadReader::Table> ThreadReader::tableOf(const Expr *pointer) {
  pointer = strip(pointer);
  if (const VarDecl *variable = variableOf(pointer)) {
    auto known = tables.find(variable);
    return known == tables.end() || untracked.count(variable) ? std::nullopt
                                                              : std::optional(known->second);
  }
  if (const auto *binary = llvm::dyn_cast<BinaryOperator>(pointer);
      binary && binary->getOpcode() == BO_Add && binary->getLHS()->getType()->isPointerType()) {
    std::optional<Table> table = tableOf(binary->getLHS());
    std::optional<Integer> by = evaluate(binary->getRHS());
    if (!table || !by || !by->poly.isConstant())
      return std::nullopt;
    table->first += by->poly.constantTerm();
    return table;
  }
  const auto *member = llvm::dyn_cast<MemberExpr>(pointer);
  if (!member)
    return std::nullopt;
  if (const ViewPart *part = fieldOfView(member))
    return part->table;
  const ArrayType *array = ast.getAsArrayType(member->getType());
  Table table;
  if (!array || !array->getElementType()->isIntegerType() || !isFixedPlace(member) ||
      !readPlace(member, table.array))
    return std::nullopt;
  table.type = array->getElementType().getUnqualifiedType();
  return table;
}

const ThreadReader::ViewPart *ThreadReader::fieldOfView(const MemberExpr *member) {
  const auto *field = llvm::dyn_cast<FieldDecl>(member->getMemberDecl());
  const Expr *base = strip(member->getBase());
  const View *whole = nullptr;
  if (llvm::isa<CXXThisExpr>(base)) {
    whole = view;
  } else if (const VarDecl *variable = variableOf(base)) {
    auto known = views.find(variable);
    whole = known == views.end() || untracked.count(variable) ? nullptr : &known->second;
  }
  if (!field || !whole)
    return nullptr;
  auto known = whole->find(field->getCanonicalDecl());
  return known == whole->end() ? nullptr : &known->second;
}

std::optional<Integer> ThreadReader::evaluateInView(const Expr *expr) {
  if (const auto *member = llvm::dyn_cast<MemberExpr>(expr)) {
    const ViewPart *part = fieldOfView(member);
    return part && part->value && part->value->kind == Value::Number
               ? std::optional(part->value->number)
               : std::nullopt;
  }
  const auto *subscript = llvm::cast<ArraySubscriptExpr>(expr);
  if (strip(subscript->getBase())->getType()->isArrayType())
    return std::nullopt;
  std::optional<Table> table = tableOf(subscript->getBase());
  std::optional<Integer> index = table ? evaluate(subscript->getIdx()) : std::nullopt;
  if (!index || !index->poly.isConstant())
    return std::nullopt;
  FieldOfParameter place = table->array;
  place.addElement(table->first + index->poly.constantTerm(),
                   ast.getTypeSizeInChars(table->type).getQuantity());
  return symbolOf(place, table->type);
}

} // namespace kbopt::raise
