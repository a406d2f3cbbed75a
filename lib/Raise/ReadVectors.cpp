//===- ReadVectors.cpp - Vectors as the scalars they consist of ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the splitting of CUDA's vector types: `*(float4 *)(x + i)` is four elements of x, and a
// float4 of the thread is four scalars.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace kbopt::raise {

/// The fields of the user's struct \p type if it is no more than these, and all are numbers.
static std::optional<VectorShape> structShape(QualType type, std::string name) {
  constexpr unsigned mostFields = 16;
  const auto *record = type->getAsCXXRecordDecl();
  if (record->isUnion() || record->isLambda() || !record->isAggregate() || record->getNumBases() ||
      !record->isTriviallyCopyable() || type.isVolatileQualified())
    return std::nullopt;
  VectorShape shape;
  shape.maker = std::move(name);
  for (const FieldDecl *field : record->fields()) {
    QualType each = field->getType();
    if (!each->isArithmeticType() || each.hasQualifiers() || field->isBitField() ||
        field->hasInClassInitializer())
      return std::nullopt;
    shape.fields.push_back(field->getNameAsString());
    shape.types.push_back(each);
  }
  return shape.fields.empty() || shape.fields.size() > mostFields ? std::nullopt
                                                                  : std::optional(shape);
}

std::optional<VectorShape> ThreadReader::vectorShape(QualType type) const {
  const auto *record = type.isNull() ? nullptr : type->getAsCXXRecordDecl();
  if (!record || !record->isCompleteDefinition())
    return std::nullopt;
  if (!ast.getSourceManager().isInSystemHeader(record->getLocation()))
    return structShape(type, typeText(type.getUnqualifiedType()));
  if (!record->getIdentifier())
    return std::nullopt;
  llvm::StringRef name = record->getName(), stem = name.drop_back();
  VectorShape shape;
  if (name == "__half2")
    shape.maker = "__halves2half2";
  else if (name == "__nv_bfloat162")
    shape.maker = "__halves2bfloat162";
  else if (llvm::is_contained({"char", "uchar", "short", "ushort", "int", "uint", "longlong",
                               "ulonglong", "float", "double"},
                              stem) &&
           name.back() >= '2' && name.back() <= '4')
    shape.maker = "make_" + name.str();
  else
    return std::nullopt;
  for (const FieldDecl *field : record->fields()) {
    if (!shape.fields.empty() && !ast.hasSameUnqualifiedType(field->getType(), shape.scalar))
      return std::nullopt;
    shape.scalar = field->getType();
    shape.fields.push_back(field->getNameAsString());
    shape.types.push_back(field->getType());
  }
  bool isPlain = !shape.fields.empty() &&
                 ast.getTypeSize(type) == shape.fields.size() * ast.getTypeSize(shape.scalar);
  return isPlain ? std::optional(shape) : std::nullopt;
}

std::optional<Pointer> ThreadReader::castPointer(Pointer pointer, QualType to) const {
  if (pointer.parts == 1 && ast.hasSameUnqualifiedType(to, pointer.element))
    return pointer;
  bool isBack = ast.hasSameUnqualifiedType(to, pointer.element);
  std::optional<VectorShape> shape = vectorShape(to);
  auto isScalar = [&](QualType element) {
    bool isChar = ast.hasSameUnqualifiedType(element, ast.CharTy) && ast.getLangOpts().CharIsSigned;
    return ast.hasSameUnqualifiedType(shape->scalar,
                                      isChar ? ast.SignedCharTy : element.getUnqualifiedType());
  };
  if (!isBack && (!shape || shape->scalar.isNull() || !isScalar(pointer.element)))
    return std::nullopt;
  pointer.parts = isBack ? 1 : shape->fields.size();
  pointer.whole = isBack ? QualType() : to;
  return pointer;
}

std::optional<Pointer> ThreadReader::evaluateVector(const Expr *lvalue) {
  lvalue = lvalue->IgnoreParens();
  std::optional<Pointer> pointer;
  if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(lvalue);
      cast && cast->getCastKind() == CK_LValueBitCast) {
    if (llvm::isa<ArraySubscriptExpr>(strip(cast->getSubExpr())))
      pointer = evaluateArray(cast->getSubExpr());
    if (pointer)
      pointer = castPointer(*pointer, cast->getType());
    return pointer && pointer->parts > 1 ? pointer : std::nullopt;
  }
  lvalue = strip(lvalue);
  if (!vectorShape(lvalue->getType()))
    return std::nullopt;
  if (llvm::isa<ArraySubscriptExpr>(lvalue))
    pointer = evaluateArray(lvalue);
  else if (const auto *unary = llvm::dyn_cast<UnaryOperator>(lvalue);
           unary && unary->getOpcode() == UO_Deref)
    pointer = evaluatePointer(unary->getSubExpr());
  else if (const VarDecl *variable = variableOf(lvalue);
           variable && variable->getType()->isReferenceType())
    pointer = evaluateArray(lvalue);
  return pointer && pointer->parts > 1 ? pointer : std::nullopt;
}

Operand ThreadReader::partAt(const Pointer &pointer, unsigned part) const {
  Pointer scalar = pointer;
  scalar.parts = 1;
  scalar.offset = scalar.offset + Poly::constant(part);
  return elementAt(scalar);
}

Text ThreadReader::joinVector(const VectorShape &shape, llvm::ArrayRef<Text> parts) const {
  Text joined;
  bool isStruct = shape.scalar.isNull();
  for (auto [part, type] : llvm::zip_equal(parts, shape.types)) {
    std::string text = shiftHoles(part.text, joined.operands.size());
    if (isStruct) // braces convert nothing
      text = "(" + typeText(type) + ")(" + text + ")";
    joined.text += (joined.text.empty() ? shape.maker + (isStruct ? "{" : "(") : ", ") + text;
    joined.operands.insert(joined.operands.end(), part.operands.begin(), part.operands.end());
  }
  joined.text += isStruct ? "}" : ")";
  return joined;
}

/// The function of scalars that \p name applies to each part of vectors; empty where there is none.
static llvm::StringRef partwise(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("__hadd2", "__hadd")
      .Case("__hsub2", "__hsub")
      .Case("__hmul2", "__hmul")
      .Case("__hmax2", "__hmax")
      .Case("__hmin2", "__hmin")
      .Case("__hneg2", "__hneg")
      .Case("__habs2", "__habs")
      .Case("__hfma2", "__hfma")
      .Case("__half22float2", "__half2float")
      .Case("__bfloat1622float2", "__bfloat162float")
      .Case("__float22half2_rn", "__float2half_rn")
      .Case("__float22bfloat162_rn", "__float2bfloat16_rn")
      .Default("");
}

/// The function of one scalar that gives every part of `name(x)`; "=" for x itself.
static llvm::StringRef spread(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("__float2half2_rn", "__float2half_rn")
      .Case("__float2bfloat162_rn", "__float2bfloat16_rn")
      .Cases({"__half2half2", "__bfloat162bfloat162"}, "=")
      .Default("");
}

/// The function of scalars for each part of `name(x, y)`; "=" for x and y themselves.
static llvm::StringRef gather(llvm::StringRef name, llvm::StringRef maker) {
  if (name == maker || name == "make_half2" || name == "make_bfloat162")
    return "=";
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("__floats2half2_rn", "__float2half_rn")
      .Case("__floats2bfloat162_rn", "__float2bfloat16_rn")
      .Default("");
}

std::optional<ThreadReader::Parts> ThreadReader::splitCall(const CallExpr *call,
                                                           const VectorShape &shape, Body &out) {
  llvm::StringRef name = calleeName(call);
  const FunctionDecl *callee = call->getDirectCallee();
  if (!callee || !ast.getSourceManager().isInSystemHeader(callee->getLocation()))
    return std::nullopt;
  auto apply = [](llvm::StringRef function, Text text) {
    if (function != "=")
      text.text = (function + "(" + text.text + ")").str();
    return text;
  };
  Parts parts;
  static const llvm::StringRef loads[] = {"__ldg",  "__ldcs", "__ldca",
                                          "__ldcg", "__ldlu", "__ldcv"};
  if (llvm::is_contained(loads, name) && call->getNumArgs() == 1) {
    std::optional<Pointer> pointer = evaluatePointer(call->getArg(0));
    if (!pointer || pointer->parts != shape.fields.size())
      return std::nullopt;
    for (unsigned i = 0; i < pointer->parts; ++i)
      parts.push_back({"$0", {partAt(*pointer, i)}});
    return parts;
  }
  if (llvm::StringRef function = gather(name, shape.maker);
      !function.empty() && call->getNumArgs() == shape.fields.size()) {
    for (const Expr *argument : call->arguments())
      parts.push_back(apply(function, textOf(argument, out)));
    return parts;
  }
  if (llvm::StringRef function = spread(name); !function.empty() && call->getNumArgs() == 1)
    return Parts(shape.fields.size(), apply(function, textOf(call->getArg(0), out)));
  llvm::StringRef function = partwise(name);
  if (function.empty())
    return std::nullopt;
  parts.resize(shape.fields.size());
  for (unsigned a = 0; a < call->getNumArgs(); ++a) {
    std::optional<Parts> argument = splitVector(call->getArg(a), out);
    if (!argument || argument->size() != parts.size())
      return std::nullopt;
    for (auto [part, own] : llvm::zip_equal(parts, *argument)) {
      part.text += (a ? ", " : (function + "(").str()) + shiftHoles(own.text, part.operands.size());
      part.operands.insert(part.operands.end(), own.operands.begin(), own.operands.end());
    }
  }
  for (Text &part : parts)
    part.text += ")";
  return parts;
}

std::optional<ThreadReader::Parts> ThreadReader::splitVector(const Expr *expr, Body &out) {
  expr = strip(expr);
  std::optional<VectorShape> shape = vectorShape(expr->getType());
  if (!shape || failed())
    return std::nullopt;
  Parts parts;
  if (const auto *copy = llvm::dyn_cast<CXXConstructExpr>(expr))
    return copy->getNumArgs() == 1 && copy->getConstructor()->isCopyOrMoveConstructor()
               ? splitVector(copy->getArg(0), out)
               : std::nullopt;
  if (const Value *value = valueAt(expr); value && value->kind != Value::Address) {
    if (value->kind != Value::Vector)
      return std::nullopt;
    for (const std::string &name : value->parts)
      parts.push_back({name, {}});
    return parts;
  }
  if (std::optional<Pointer> pointer = evaluateVector(expr)) {
    for (unsigned i = 0; i < pointer->parts; ++i)
      parts.push_back({"$0", {partAt(*pointer, i)}});
    return parts;
  }
  if (const auto *list = llvm::dyn_cast<InitListExpr>(expr)) {
    if (list->getNumInits() != shape->fields.size())
      return std::nullopt;
    for (const Expr *each : list->inits())
      parts.push_back(llvm::isa<ImplicitValueInitExpr>(each) ? Text{"0", {}} : textOf(each, out));
    return parts;
  }
  if (const auto *call = llvm::dyn_cast<CallExpr>(expr))
    return splitCall(call, *shape, out);
  return std::nullopt;
}

std::optional<Text> ThreadReader::partText(const MemberExpr *member, Body &out) {
  if (std::optional<Pointer> place = fieldPlace(member); place && place->parts == 1)
    return Text{"$0", {elementAt(*place)}};
  const Expr *whole = objectOf(member);
  std::string name = member->getMemberDecl()->getNameAsString();
  if (isArrow(member)) {
    if (const std::string *part = partName(member))
      return Text{*part, {}};
    std::optional<Pointer> pointer = evaluatePointer(whole);
    if (!pointer || pointer->element->isArrayType() || pointer->element.isVolatileQualified())
      return std::nullopt;
    if (pointer->parts == 1)
      return Text{"$0." + name, {elementAt(*pointer)}};
    std::optional<VectorShape> shape = vectorShape(pointer->whole);
    auto *field = shape ? llvm::find(shape->fields, name) : nullptr;
    return shape && field != shape->fields.end()
               ? std::optional(Text{"$0", {partAt(*pointer, field - shape->fields.begin())}})
               : std::nullopt;
  }
  std::optional<VectorShape> shape = vectorShape(whole->getType());
  auto *field = shape ? llvm::find(shape->fields, name) : nullptr;
  if (shape && field != shape->fields.end())
    if (std::optional<Parts> parts = splitVector(whole, out))
      return (*parts)[field - shape->fields.begin()];
  if (whole == strip(member->getBase()) || failed())
    return std::nullopt;
  // A field of what a method was called on.
  Text text = textOf(whole, out);
  text.text += "." + name;
  return text;
}

const Value *ThreadReader::valueAt(const Expr *expr, bool isPointer) const {
  expr = strip(expr);
  const auto *unary = llvm::dyn_cast<UnaryOperator>(expr);
  if (!isPointer && unary && unary->getOpcode() == UO_Deref)
    return valueAt(unary->getSubExpr(), true);
  const VarDecl *variable = variableOf(expr);
  const auto &known = isPointer ? pointees : values;
  auto at = known.find(variable);
  return variable && at != known.end() ? &at->second : nullptr;
}

const std::string *ThreadReader::partName(const Expr *lvalue) {
  if (const std::string *name = elementName(lvalue))
    return name;
  lvalue = strip(lvalue);
  if (const Value *value = llvm::isa<UnaryOperator>(lvalue) ? valueAt(lvalue) : nullptr)
    return value->kind == Value::Scalar ? &value->name : nullptr;
  const auto *member = llvm::dyn_cast<MemberExpr>(lvalue);
  const Value *value = member ? valueAt(objectOf(member), isArrow(member)) : nullptr;
  if (!value || value->kind != Value::Vector)
    return nullptr;
  QualType type = objectOf(member)->getType();
  std::optional<VectorShape> shape = vectorShape(isArrow(member) ? type->getPointeeType() : type);
  if (!shape)
    return nullptr;
  auto *field = llvm::find(shape->fields, member->getMemberDecl()->getNameAsString());
  return field == shape->fields.end() ? nullptr : &value->parts[field - shape->fields.begin()];
}

} // namespace kbopt::raise
