//===- ReadVectors.cpp - Vectors as the scalars they consist of ----------------===//
//
// Owns the splitting of CUDA's vector types: `*(float4 *)(x + i)` is four elements of x, and a
// float4 of the thread is four scalars.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/RecursiveASTVisitor.h"
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
    if (!each->isArithmeticType() || each.hasQualifiers() || field->isBitField() || field->hasInClassInitializer())
      return std::nullopt;
    shape.fields.push_back(field->getNameAsString());
    shape.types.push_back(each);
  }
  return shape.fields.empty() || shape.fields.size() > mostFields ? std::nullopt : std::optional(shape);
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
  else if (llvm::is_contained({"char", "uchar", "short", "ushort", "int", "uint", "longlong", "ulonglong", "float",
                               "double"},
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
    return ast.hasSameUnqualifiedType(shape->scalar, isChar ? ast.SignedCharTy : element.getUnqualifiedType());
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
  if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(lvalue); cast && cast->getCastKind() == CK_LValueBitCast) {
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
  else if (const auto *unary = llvm::dyn_cast<UnaryOperator>(lvalue); unary && unary->getOpcode() == UO_Deref)
    pointer = evaluatePointer(unary->getSubExpr());
  else if (const VarDecl *variable = variableOf(lvalue); variable && variable->getType()->isReferenceType())
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

std::optional<ThreadReader::Parts> ThreadReader::splitCall(const CallExpr *call, const VectorShape &shape, Body &out) {
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
  static const llvm::StringRef loads[] = {"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv"};
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
    return shape && field != shape->fields.end() ? std::optional(Text{"$0", {partAt(*pointer, field - shape->fields.begin())}})
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

/// Whether \p variable's function changes one field of it, or lets another function do so.
static bool changesField(const VarDecl *variable) {
  struct Finder : RecursiveASTVisitor<Finder> {
    const VarDecl *variable = nullptr;
    bool found = false;
    void look(const Expr *lvalue) {
      const auto *member = llvm::dyn_cast<MemberExpr>(strip(lvalue));
      found |= member && variableOf(member->getBase()) == variable;
    }
    bool VisitBinaryOperator(BinaryOperator *op) { return op->isAssignmentOp() ? look(op->getLHS()) : void(), !found; }
    bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *op) {
      return op->isAssignmentOp() ? look(op->getArg(0)) : void(), !found;
    }
    bool VisitUnaryOperator(UnaryOperator *op) {
      if (op->isIncrementDecrementOp() || op->getOpcode() == UO_AddrOf)
        look(op->getSubExpr());
      found |= op->getOpcode() == UO_AddrOf && variableOf(op->getSubExpr()) == variable;
      return !found;
    }
  } finder;
  finder.variable = variable;
  const auto *function = llvm::dyn_cast<FunctionDecl>(variable->getDeclContext());
  if (function && function->getBody())
    finder.TraverseStmt(function->getBody());
  return finder.found;
}

bool ThreadReader::declareVector(const VarDecl *variable, const Expr *init, Body &out) {
  std::optional<VectorShape> shape = vectorShape(variable->getType());
  const auto *constructed = llvm::dyn_cast_or_null<CXXConstructExpr>(init);
  bool isEmpty = constructed && constructed->getNumArgs() == 0, isZero = isEmpty && constructed->requiresZeroInitialization();
  if (isEmpty)
    init = nullptr;
  std::optional<Parts> parts = shape && init ? splitVector(init, out) : std::nullopt;
  if (shape && init && !parts && !failed() && changesField(variable))
    parts = fixedParts(*shape, init, out);
  if (!shape || (init && !parts))
    return false;
  Value value;
  value.kind = Value::Vector;
  for (unsigned i = 0; i < shape->fields.size(); ++i) {
    Statement let;
    let.kind = Statement::Let;
    let.name = uniqueName((variable->getName() + "_" + shape->fields[i]).str());
    let.type = typeText(shape->types[i].getUnqualifiedType());
    if (init)
      let.value = (*parts)[i];
    else if (isZero)
      let.value.text = "0";
    value.parts.push_back(let.name);
    out.push_back(std::move(let));
  }
  values[variable] = value;
  return true;
}

/// The parts of \p right as texts that still mean the same after the first of them is stored.
std::optional<ThreadReader::Parts> ThreadReader::fixedParts(const VectorShape &shape, const Expr *right, Body &out) {
  std::optional<Parts> parts = splitVector(right, out);
  bool isFixed = parts && llvm::all_of(*parts, [](const Text &part) {
    return llvm::none_of(part.operands, [](const Operand &each) { return each.kind == Operand::Element; });
  });
  auto keep = [&](llvm::StringRef wish, const std::string &type, Text value) {
    Statement let;
    let.kind = Statement::Let;
    let.name = uniqueName(wish);
    let.type = type;
    let.value = std::move(value);
    out.push_back(let);
    return let.name;
  };
  if (!parts) {
    Text whole = textOf(right, out);
    if (failed())
      return std::nullopt;
    std::string name = keep("whole", typeText(right->getType().getUnqualifiedType()), std::move(whole));
    parts.emplace();
    for (const std::string &field : shape.fields)
      parts->push_back({name + "." + field, {}});
  } else if (!isFixed) {
    for (auto [part, field, type] : llvm::zip_equal(*parts, shape.fields, shape.types))
      part = {keep("part_" + field, typeText(type.getUnqualifiedType()), part), {}};
  }
  return failed() ? std::nullopt : parts;
}

bool ThreadReader::storeVector(const Pointer &pointer, const Expr *right, Body &out) {
  std::optional<VectorShape> shape = vectorShape(pointer.whole);
  std::optional<Parts> parts = shape ? fixedParts(*shape, right, out) : std::nullopt;
  if (!parts)
    return false;
  for (unsigned i = 0; i < pointer.parts; ++i) {
    Statement store;
    store.kind = Statement::Store;
    store.target = partAt(pointer, i);
    store.value = (*parts)[i];
    out.push_back(std::move(store));
  }
  return true;
}

bool ThreadReader::assignVector(const Expr *left, const Expr *right, Body &out) {
  if (std::optional<Pointer> pointer = evaluateVector(left))
    return storeVector(*pointer, right, out);
  const Value *place = valueAt(left);
  std::optional<VectorShape> shape = place && place->kind == Value::Vector ? vectorShape(left->getType()) : std::nullopt;
  if (!shape)
    return false;
  llvm::SmallVector<std::string> names(place->parts.begin(), place->parts.end());
  std::optional<Parts> parts = fixedParts(*shape, right, out);
  if (!parts)
    return false;
  // (a, b) = (b, a)
  bool isPlain = true;
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t j = i + 1; j < names.size(); ++j)
      isPlain &= (*parts)[j].text.find(names[i]) == std::string::npos;
  for (auto [part, field, type] : llvm::zip_equal(*parts, shape->fields, shape->types)) {
    if (isPlain)
      continue;
    Statement let;
    let.kind = Statement::Let;
    let.name = uniqueName("part_" + field);
    let.type = typeText(type.getUnqualifiedType());
    let.value = std::move(part);
    part = {let.name, {}};
    out.push_back(std::move(let));
  }
  for (auto [name, part] : llvm::zip_equal(names, *parts)) {
    Statement assign;
    assign.kind = Statement::Assign;
    assign.name = name;
    assign.value = std::move(part);
    out.push_back(std::move(assign));
  }
  return true;
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
