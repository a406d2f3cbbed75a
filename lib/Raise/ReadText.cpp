//===- ReadText.cpp - The user's expressions with holes --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns copying expressions: text as the user wrote it, with holes for elements and index values.
// What stands in a macro's body is printed from the AST.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/Attr.h"
#include "clang/AST/PrettyPrinter.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"

using namespace clang;

namespace kbopt::raise {

/// Builds one Text.
class TextBuilder : public PrinterHelper {
public:
  TextBuilder(ThreadReader &reader, ThreadReader::Body &out) : reader(reader), out(out) {}

  std::string print(const Stmt *node) {
    if (std::optional<std::string> text = cached(node))
      return *text;
    llvm::SmallVector<Part> parts;
    bool isSpliceable = collect(node, parts);
    if (isSpliceable)
      if (std::optional<std::string> text = splice(node, parts))
        return *text;
    const Stmt *outer = std::exchange(current, node);
    std::string text;
    llvm::raw_string_ostream os(text);
    PrintingPolicy policy = reader.ast.getPrintingPolicy();
    policy.adjustForCPlusPlus();
    policy.SuppressImplicitBase = true;
    node->printPretty(os, this, policy);
    current = outer;
    return text;
  }

  bool handledStmt(Stmt *node, llvm::raw_ostream &os) override {
    if (node == current)
      return false;
    os << print(node);
    return true;
  }

  Text result;

private:
  struct Part {
    CharSourceRange range;
    std::string text;
  };

  std::string hole(Operand operand) {
    result.operands.push_back(std::move(operand));
    return "$" + std::to_string(result.operands.size() - 1);
  }

  CharSourceRange fileRange(const Stmt *node) const {
    return Lexer::makeFileCharRange(CharSourceRange::getTokenRange(node->getSourceRange()),
                                    reader.ast.getSourceManager(), reader.ast.getLangOpts());
  }

  /// The outermost replaced nodes below \p node. False if some has no place in the file.
  bool collect(const Stmt *node, llvm::SmallVectorImpl<Part> &parts) {
    const Stmt *inner = node;
    if (const auto *pseudo = llvm::dyn_cast<PseudoObjectExpr>(node))
      inner = pseudo->getSyntacticForm();
    if (const auto *opaque = llvm::dyn_cast<OpaqueValueExpr>(node))
      inner = opaque->getSourceExpr();
    // The name of a type in a macro's body is not in the text of the macro's use.
    const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(inner);
    bool isSpliceable = !cast || !cast->getBeginLoc().isMacroID() ||
                        cast->getTypeAsWritten()->isCanonicalUnqualified();
    for (const Stmt *child : inner->children()) {
      if (!child || llvm::isa<CXXDefaultArgExpr>(child))
        continue;
      bool isGuarded =
          child != *inner->child_begin() &&
          (llvm::isa<ConditionalOperator>(inner) ||
           (llvm::isa<BinaryOperator>(inner) && llvm::cast<BinaryOperator>(inner)->isLogicalOp()));
      isConditional += isGuarded;
      auto *place = isGuarded ? std::exchange(reader.before, nullptr) : reader.before;
      llvm::scope_exit leave([&] {
        isConditional -= isGuarded;
        reader.before = place;
      });
      if (std::optional<std::string> text = cached(child)) {
        CharSourceRange range = fileRange(child);
        isSpliceable &= range.isValid();
        parts.push_back({range, *text});
      } else {
        isSpliceable &= collect(child, parts);
      }
    }
    return isSpliceable;
  }

  std::optional<std::string> cached(const Stmt *node) {
    auto [at, isNew] = known.try_emplace(node);
    if (isNew) {
      std::optional<std::string> text = replacement(node);
      known[node] = text;
      return text;
    }
    return at->second;
  }

  std::optional<std::string> splice(const Stmt *node, llvm::ArrayRef<Part> parts) {
    CharSourceRange range = fileRange(node);
    if (range.isInvalid())
      return std::nullopt;
    const SourceManager &sources = reader.ast.getSourceManager();
    auto [file, begin] = sources.getDecomposedLoc(range.getBegin());
    unsigned end = sources.getFileOffset(range.getEnd());
    std::string text = Lexer::getSourceText(range, sources, reader.ast.getLangOpts()).str();
    llvm::SmallVector<Part> sorted(parts);
    llvm::sort(sorted, [&](const Part &a, const Part &b) {
      return sources.getFileOffset(a.range.getBegin()) > sources.getFileOffset(b.range.getBegin());
    });
    unsigned limit = end;
    for (const Part &part : sorted) {
      unsigned from = sources.getFileOffset(part.range.getBegin()),
               to = sources.getFileOffset(part.range.getEnd());
      if (sources.getFileID(part.range.getBegin()) != file || from < begin || to > limit)
        return std::nullopt;
      text.replace(from - begin, to - from, part.text);
      limit = from;
    }
    return oneLine(text);
  }

  /// Without line breaks; nothing if there is a comment.
  static std::optional<std::string> oneLine(llvm::StringRef text) {
    if (text.contains("//") || text.contains("/*") || text.contains('"'))
      return std::nullopt;
    std::string line;
    bool breaks = false;
    for (char c : text) {
      if (c == '\n' || c == '\r' || (c == '\\') || (breaks && llvm::isSpace(c))) {
        breaks = true;
        continue;
      }
      if (breaks)
        line += ' ';
      breaks = false;
      line += c;
    }
    return line;
  }

  /// \p text with holes of this text.
  std::string fill(const Text &text) {
    std::string shifted = shiftHoles(text.text, result.operands.size());
    result.operands.insert(result.operands.end(), text.operands.begin(), text.operands.end());
    return shifted;
  }
  /// `c ? a : b` of which a side reads an element that c does not: a variable that statements
  /// before give its value.
  std::optional<std::string> liftChoice(const ConditionalOperator *choice);
  /// A vector that is split, or a part of one.
  std::optional<Text> vectorText(const Expr *expr);
  /// A conversion whose type has a name that another kernel does not see.
  std::optional<std::string> typedText(const Expr *expr);
  /// An element or a field of a struct that nothing changes, as it is written.
  std::optional<std::string> fixedText(const Expr *expr);
  std::optional<std::string> replacement(const Stmt *node);
  std::optional<std::string> replaceCall(const CallExpr *call);

  ThreadReader &reader;
  ThreadReader::Body &out;
  const Stmt *current = nullptr;
  unsigned isConditional = 0; ///< how many conditions decide whether what is read is evaluated
  std::map<const Stmt *, std::optional<std::string>> known;
};

std::optional<std::string> TextBuilder::liftChoice(const ConditionalOperator *choice) {
  QualType type = choice->getType().getUnqualifiedType();
  if (isConditional || !reader.liftsChoices || type->isPointerType() || type->isVoidType())
    return std::nullopt;
  Statement sides[2];
  ThreadReader::Body conditions;
  for (unsigned i : {0, 1}) {
    Statement &side = sides[i];
    side.kind = Statement::If;
    reader.readCondition(choice->getCond(), i, side, conditions);
    if (reader.failed())
      return std::nullopt;
    auto *place = std::exchange(reader.before, &side.body);
    size_t outer = reader.given.size();
    reader.given.append(side.constraints.begin(), side.constraints.end());
    Text value = reader.textOf(i ? choice->getFalseExpr() : choice->getTrueExpr(), side.body);
    reader.given.truncate(outer);
    reader.before = place;
    reader.loadedIndices.clear();
    Statement assign;
    assign.kind = Statement::Assign;
    assign.value = std::move(value);
    side.body.push_back(std::move(assign));
  }
  bool isNeeded = !conditions.empty();
  for (Statement &side : sides) {
    isNeeded |= side.body.size() > 1;
    for (const Operand &each : side.body.back().value.operands)
      isNeeded |= each.kind == Operand::Element &&
                  llvm::none_of(sides[0].value.operands, [&](const Operand &known) {
                    return known.kind == Operand::Element && known.base == each.base &&
                           known.offset == each.offset;
                  });
  }
  if (!isNeeded || reader.failed())
    return std::nullopt;
  Statement let;
  let.kind = Statement::Let;
  let.name = reader.uniqueName("chosen");
  let.type = reader.typeText(type);
  // A side that reads nothing is what the variable starts with.
  Statement &other = sides[1];
  bool isPlain = other.body.size() == 1 &&
                 llvm::none_of(other.body[0].value.operands,
                               [](const Operand &each) { return each.kind != Operand::Index; });
  if (isPlain)
    let.value = other.body[0].value;
  out.insert(out.end(), conditions.begin(), conditions.end());
  out.push_back(let);
  for (Statement &side : llvm::MutableArrayRef(sides, isPlain ? 1 : 2)) {
    side.body.back().name = let.name;
    out.push_back(std::move(side));
  }
  return let.name;
}

std::optional<Text> TextBuilder::vectorText(const Expr *expr) {
  if (const auto *member = llvm::dyn_cast<MemberExpr>(expr))
    return reader.partText(member, out);
  bool isPlace = llvm::isa<ArraySubscriptExpr, UnaryOperator, DeclRefExpr, ExplicitCastExpr>(expr);
  if (const auto *call = llvm::dyn_cast<CallExpr>(expr)) {
    // What a part of a vector is.
    llvm::StringRef name = calleeName(call);
    unsigned part = llvm::is_contained({"__high2half", "__high2float", "__high2bfloat16"}, name);
    bool isPart = part || llvm::is_contained({"__low2half", "__low2float", "__low2bfloat16"}, name);
    std::optional<ThreadReader::Parts> parts =
        isPart ? reader.splitVector(call->getArg(0), out) : std::nullopt;
    if (parts && name.ends_with("2float"))
      (*parts)[part].text = "float(" + (*parts)[part].text + ")";
    if (parts)
      return (*parts)[part];
    isPlace = name.starts_with("__ld");
  }
  if (!isPlace)
    return std::nullopt;
  std::optional<VectorShape> shape = reader.vectorShape(expr->getType());
  std::optional<ThreadReader::Parts> parts = shape ? reader.splitVector(expr, out) : std::nullopt;
  return parts ? std::optional(reader.joinVector(*shape, *parts)) : std::nullopt;
}

std::optional<std::string> TextBuilder::typedText(const Expr *expr) {
  if (!reader.isWrittenElsewhere(expr) || expr->isGLValue())
    return std::nullopt;
  std::string type = reader.typeText(expr->getType().getUnqualifiedType());
  if (llvm::isa<CXXScalarValueInitExpr>(expr))
    return "(" + type + ")(0)";
  if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(expr)) {
    const Expr *operand = cast->getSubExprAsWritten();
    const auto *list = llvm::dyn_cast<InitListExpr>(operand);
    const auto *made = llvm::dyn_cast<CXXConstructExpr>(operand);
    if (list && list->getSyntacticForm())
      list = list->getSyntacticForm(); // the other one names the bases
    if ((list && list->getNumInits() == 0) || (made && made->getNumArgs() == 0)) // a functor
      return type + "{}";
    if (list && list->getNumInits() != 1)
      return std::nullopt;
    return "(" + type + ")(" + fill(reader.textOf(list ? list->getInit(0) : operand, out)) + ")";
  }
  if (const auto *object = llvm::dyn_cast<CXXTemporaryObjectExpr>(expr)) {
    std::string arguments;
    for (const Expr *argument : object->arguments())
      if (!llvm::isa<CXXDefaultArgExpr>(argument))
        arguments += (arguments.empty() ? "" : ", ") + fill(reader.textOf(argument, out));
    return type + (object->isListInitialization() ? "{" + arguments + "}" : "(" + arguments + ")");
  }
  return std::nullopt;
}

std::optional<std::string> TextBuilder::fixedText(const Expr *expr) {
  const auto *subscript = llvm::dyn_cast<ArraySubscriptExpr>(expr);
  const auto *member = llvm::dyn_cast<MemberExpr>(expr);
  if ((!subscript && !member) || !reader.isFixedPlace(expr))
    return std::nullopt;
  if (member)
    return fill(reader.textOf(reader.objectOf(member), out)) + "." +
           member->getMemberDecl()->getNameAsString();
  std::string array = fill(reader.textOf(strip(subscript->getBase()), out));
  return array + "[" + fill(reader.textOf(subscript->getIdx(), out)) + "]";
}

std::optional<std::string> TextBuilder::replacement(const Stmt *node) {
  const auto *expr = llvm::dyn_cast<Expr>(node);
  if (!expr || reader.failed())
    return std::nullopt;
  if (llvm::isa<ParenExpr>(expr))
    return std::nullopt;
  if (const Value *value = reader.nestedValue(expr); value && value->kind == Value::Scalar)
    return value->name;
  QualType type = expr->getType();
  if (type->isIntegralOrEnumerationType() && !type->isBooleanType() && expr->isPRValue()) {
    if (const auto *cast = llvm::dyn_cast<ImplicitCastExpr>(expr);
        cast && cast->getCastKind() == CK_IntegralCast)
      return std::nullopt; // the hole has the type that is written
    bool mayLoad = std::exchange(reader.mayLoad, false);
    std::optional<Integer> value = reader.evaluate(expr);
    reader.mayLoad = mayLoad;
    if (value) {
      // What depends on no thread stays as it is written, unless it names a local variable.
      // Another schedule has another grid and other blocks.
      bool isOfLaunch = llvm::any_of(reader.space.variables(value->poly), [&](VarId var) {
        return reader.space[var].kind == Space::Fixed;
      });
      bool isWritten = !isOfLaunch && reader.space.isUniform(value->poly) &&
                       !reader.mentionsFollowed(expr) && !(reader.object && mentionsThis(expr));
      if (isWritten &&
          (!reader.inlineDepth || llvm::isa<IntegerLiteral>(expr) || !value->poly.isConstant()))
        return std::nullopt;
      if (isWritten && type->isSpecificBuiltinType(BuiltinType::Int) &&
          value->poly.constantTerm() >= 0)
        return std::to_string(value->poly.constantTerm());
      if (value->poly.monomials().size() == 1) {
        auto &[monomial, coefficient] = *value->poly.monomials().begin();
        if (monomial.size() == 1 && coefficient == 1 &&
            reader.space[monomial[0]].kind == Space::Varying)
          return reader.space[monomial[0]].name;
      }
      if (!reader.demand(*value, expr))
        return std::nullopt;
      Operand operand;
      operand.kind = Operand::Index;
      operand.type = reader.typeText(type.getUnqualifiedType());
      operand.bytes = value->bits / 8;
      operand.offset = value->poly;
      return hole(operand);
    }
  }
  if (std::optional<Text> text = vectorText(expr))
    return fill(*text);
  if (std::optional<std::string> text = typedText(expr))
    return text;
  if (const std::string *name = reader.partName(expr))
    return *name;
  if (const auto *array = reader.arrayOf(expr); array && !array->whole.empty()) {
    std::string places;
    for (const auto *subscript = llvm::dyn_cast<ArraySubscriptExpr>(strip(expr)); subscript;
         subscript = llvm::dyn_cast<ArraySubscriptExpr>(strip(subscript->getBase())))
      places = "[" + fill(reader.textOf(subscript->getIdx(), out)) + "]" + places;
    return array->whole + places;
  }
  if (reader.arrayOf(expr)) {
    reader.refuse("'" + reader.sourceText(expr) +
                  "' indexes an array of the thread by what is not constant");
    return std::nullopt;
  }
  if (const auto *choice = llvm::dyn_cast<ConditionalOperator>(expr))
    if (std::optional<std::string> name = liftChoice(choice))
      return name;
  if (std::optional<std::string> text = fixedText(expr))
    return text;
  if (llvm::isa<ArraySubscriptExpr>(expr) ||
      (llvm::isa<UnaryOperator>(expr) &&
       llvm::cast<UnaryOperator>(expr)->getOpcode() == UO_Deref)) {
    std::optional<Operand> element = reader.evaluateElement(expr);
    if (!element) {
      reader.refuse("the address of '" + reader.sourceText(expr) + "' is not understood");
      return std::nullopt;
    }
    return hole(*element);
  }
  if (auto *reference = llvm::dyn_cast<DeclRefExpr>(expr)) {
    if (std::optional<std::string> name = reader.functionText(reference))
      return name;
    const auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
    if (!variable)
      return std::nullopt;
    auto at = reader.values.find(variable);
    if (at != reader.values.end() && at->second.kind == Value::Scalar && !at->second.name.empty())
      return at->second.name;
    bool isKnown = at != reader.values.end();
    if (isKnown && at->second.kind == Value::Address && variable->getType()->isReferenceType())
      if (std::optional<Operand> element = reader.evaluateElement(expr))
        return hole(*element);
    if (isKnown && at->second.kind == Value::Number && !reader.isGivenValue(at->second)) {
      Integer value = at->second.number; // bound to a reference
      if (!reader.demand(value, expr))
        return std::nullopt;
      Operand operand;
      operand.kind = Operand::Index;
      operand.type = reader.typeText(type.getNonReferenceType().getUnqualifiedType());
      operand.bytes = value.bits / 8;
      operand.offset = value.poly;
      return hole(operand);
    }
    bool isGivenPointer = isKnown && at->second.kind == Value::Address &&
                          at->second.address.offset == Poly() &&
                          at->second.address.base.name == variable->getName();
    if (isKnown && at->second.kind == Value::Address && !isGivenPointer)
      reader.refuse("the pointer '" + variable->getNameAsString() + "' is used as a value");
    bool isSharedScalar =
        variable->hasAttr<CUDASharedAttr>() && !variable->getType()->isArrayType();
    if ((!isKnown || isSharedScalar) && variable->hasGlobalStorage() &&
        !variable->getType().isConstQualified()) {
      if (std::optional<Operand> element = reader.evaluateElement(expr))
        return hole(*element);
    }
    if (variable->getType().isVolatileQualified())
      reader.refuse("'" + variable->getNameAsString() + "' is volatile");
    // A variable of the kernel that has no value here: what a loop leaves behind, for example.
    bool isOwn = variable->isLocalVarDeclOrParm() && variable->getDeclContext() != reader.kernel;
    isOwn |= variable->isLocalVarDecl();
    if (isOwn && at == reader.values.end())
      reader.refuse("the value of '" + variable->getNameAsString() + "' is not known");
    return std::nullopt;
  }
  if (auto *unary = llvm::dyn_cast<UnaryOperator>(expr)) {
    if (unary->isIncrementDecrementOp() || unary->getOpcode() == UO_AddrOf)
      reader.refuse("'" + reader.sourceText(expr) + "' stands inside an expression");
  } else if (auto *binary = llvm::dyn_cast<BinaryOperator>(expr);
             binary && binary->isAssignmentOp()) {
    reader.refuse("'" + reader.sourceText(expr) + "' stands inside an expression");
  } else if (auto *call = llvm::dyn_cast<CallExpr>(expr)) {
    if (call->isGLValue())
      if (std::optional<Operand> element = reader.evaluateElement(call))
        return hole(*element);
    return replaceCall(call);
  } else if (llvm::isa<LambdaExpr, StmtExpr, CXXNewExpr>(expr)) {
    reader.refuse("'" + reader.sourceText(expr) + "' is not understood");
  } else if (llvm::isa<CXXThisExpr>(expr)) {
    reader.refuse("a method uses its object as a whole");
  } else if (reader.isGridObject(expr)) {
    reader.refuse("'" + reader.sourceText(expr) + "' is used as a whole");
  }
  return std::nullopt;
}

static const llvm::StringSet<> &collectives() {
  static const llvm::StringSet<> names = {"__shfl_sync",
                                          "__shfl_up_sync",
                                          "__shfl_down_sync",
                                          "__shfl_xor_sync",
                                          "__shfl",
                                          "__shfl_up",
                                          "__shfl_down",
                                          "__shfl_xor",
                                          "__any_sync",
                                          "__all_sync",
                                          "__ballot_sync",
                                          "__reduce_add_sync",
                                          "__reduce_max_sync",
                                          "__reduce_min_sync",
                                          "__activemask",
                                          "__match_any_sync",
                                          "__syncthreads_or",
                                          "__syncthreads_and",
                                          "__syncthreads_count"};
  return names;
}

std::optional<std::string> TextBuilder::replaceCall(const CallExpr *call) {
  llvm::StringRef name = calleeName(call);
  static const llvm::StringSet<> loads = {"__ldg",  "__ldcs", "__ldca",
                                          "__ldcg", "__ldlu", "__ldcv"};
  if (loads.contains(name) && call->getNumArgs() == 1) {
    std::optional<Pointer> pointer = reader.evaluatePointer(call->getArg(0));
    if (!pointer) {
      reader.refuse("the address of '" + reader.sourceText(call) + "' is not understood");
      return std::nullopt;
    }
    return hole(reader.elementAt(*pointer));
  }
  const FunctionDecl *callee = call->getDirectCallee();
  bool isCooperative =
      callee && callee->getQualifiedNameAsString().find("cooperative_groups") != std::string::npos;
  if (collectives().contains(name) || isCooperative) {
    Operand operand;
    operand.kind = Operand::Collective;
    operand.function = name.str();
    operand.type = reader.typeText(call->getType().getUnqualifiedType());
    if (const auto *member = llvm::dyn_cast<CXXMemberCallExpr>(call))
      operand.arguments.push_back(
          {groupSizeText(strip(member->getImplicitObjectArgument())->getType()), {}});
    for (const Expr *argument : call->arguments()) {
      std::string size = groupSizeText(strip(argument)->getType());
      const CXXRecordDecl *record = argument->getType().getNonReferenceType()->getAsCXXRecordDecl();
      bool isOwn = record && name == "reduce" &&
                   !reader.ast.getSourceManager().isInSystemHeader(record->getLocation());
      if (std::string functor = isOwn ? reader.functorText(argument) : ""; !functor.empty()) {
        operand.arguments.push_back({functor, {}});
        continue;
      }
      if (isOwn && record->isEmpty())
        reader.refuse("what '" + reader.sourceText(argument) +
                      "' makes of two values is not understood");
      operand.arguments.push_back(llvm::isa<CXXDefaultArgExpr>(argument) ? Text{}
                                  : size.empty() ? reader.textOf(argument, out)
                                                 : Text{size, {}});
    }
    return hole(operand);
  }
  if (std::optional<Operand> reduction = reader.blockReduction(call, out))
    return hole(*reduction);
  if (callee && reader.isPureFunction(callee))
    return std::nullopt;
  if (isConditional == 0)
    if (std::optional<Text> inlined = reader.inlineCall(call, out)) {
      std::string text = shiftHoles(inlined->text, result.operands.size());
      for (Operand &operand : inlined->operands)
        result.operands.push_back(std::move(operand));
      bool isName = llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
      return isName ? text : "(" + text + ")";
    }
  if (!reader.failed())
    reader.refuse("'" + (name.empty() ? reader.sourceText(call) : name.str()) +
                  "' may do more than compute a value from scalars");
  return std::nullopt;
}

Text ThreadReader::textOf(const Expr *expr, Body &out) {
  TextBuilder builder(*this, out);
  // Conversions that the compiler adds are made again where the text is used.
  builder.result.text = builder.print(expr);
  return std::move(builder.result);
}

} // namespace kbopt::raise
