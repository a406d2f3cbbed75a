//===- ReadArrays.cpp - Arrays of a thread as scalars --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the scalars that stand for the elements of an array that a thread has for itself, and the
// unrolling of the loops that index it.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace kbopt::raise {

/// How many scalars and iterations an array may become: more would be no text that one wants to
/// read.
constexpr unsigned mostElements = 64, mostIterations = 32, mostCopies = 256;

bool mayCooperate(const Stmt *body) {
  struct Finder : DynamicRecursiveASTVisitor {
    std::set<const FunctionDecl *> seen;
    bool found = false;
    bool VisitVarDecl(VarDecl *variable) override {
      found |= variable->hasAttr<CUDASharedAttr>();
      return !found;
    }
    bool VisitCallExpr(CallExpr *call) override {
      llvm::StringRef name = calleeName(call);
      found |= name.contains("shfl") || name.contains("sync") || name.starts_with("__reduce");
      const FunctionDecl *callee = call->getDirectCallee(), *definition = nullptr;
      bool isOwn =
          callee && callee->isDefined(definition) && definition->getBody() &&
          !callee->getASTContext().getSourceManager().isInSystemHeader(definition->getLocation());
      if (!found && isOwn && seen.insert(definition).second)
        TraverseStmt(definition->getBody());
      return !found;
    }
  } finder;
  finder.TraverseStmt(const_cast<Stmt *>(body));
  return finder.found;
}

void ThreadReader::declareArray(const VarDecl *variable, Body &out) {
  std::string shown = "'" + variable->getNameAsString() + "'";
  LocalArray array;
  array.element = variable->getType();
  uint64_t count = 1;
  while (const auto *type = ast.getAsConstantArrayType(array.element)) {
    count *= type->getSize().getZExtValue();
    array.element = type->getElementType();
  }
  if (declareWhole(variable, array.element, count, mostElements, out) || failed())
    return;
  if (array.element->isArrayType() || array.element->isPointerType() ||
      array.element.isVolatileQualified() || !count || count > mostElements)
    return refuse(shown + " is an array of the thread");
  std::vector<Text> values(count);
  std::function<bool(const Expr *, uint64_t, uint64_t)> fill = [&](const Expr *init, uint64_t first,
                                                                   uint64_t size) {
    if (const auto *list = llvm::dyn_cast<InitListExpr>(init);
        list && list->getType()->isArrayType()) {
      uint64_t length = ast.getAsConstantArrayType(list->getType())->getSize().getZExtValue(),
               each = size / length;
      for (uint64_t i = 0; i < length; ++i) {
        const Expr *value = i < list->getNumInits() ? list->getInit(i) : list->getArrayFiller();
        if (!value || !fill(value, first + i * each, each))
          return false;
      }
      return true;
    }
    bool isZero = llvm::isa<ImplicitValueInitExpr>(init);
    if (isZero && !array.element->isArithmeticType())
      return false;
    if (!isZero && size != 1)
      return false;
    for (uint64_t i = first; i < first + size; ++i)
      values[i] =
          isZero ? Text{array.element->isFloatingType() ? "0.0f" : "0", {}} : textOf(init, out);
    return !failed();
  };
  const Expr *init = variable->getInit();
  if (const auto *constructed = llvm::dyn_cast_or_null<CXXConstructExpr>(init);
      constructed && constructed->getNumArgs() == 0)
    init = nullptr;
  if (init && !fill(init, 0, count))
    return refuse("what the array " + shown + " starts with is not understood");
  for (uint64_t i = 0; i < count; ++i) {
    Statement let;
    let.kind = Statement::Let;
    let.name = uniqueName((variable->getName() + "_" + llvm::Twine(i)).str());
    let.type = typeText(array.element.getUnqualifiedType());
    let.value = std::move(values[i]);
    array.names.push_back(let.name);
    out.push_back(std::move(let));
  }
  arrays[variable] = std::move(array);
}

const VarDecl *rootOf(const Expr *lvalue) {
  const Expr *expr = strip(lvalue);
  if (!llvm::isa<ArraySubscriptExpr>(expr))
    return nullptr;
  while (const auto *subscript = llvm::dyn_cast<ArraySubscriptExpr>(expr))
    expr = strip(subscript->getBase());
  return variableOf(expr);
}

const ThreadReader::LocalArray *ThreadReader::arrayOf(const Expr *lvalue) const {
  auto at = arrays.find(rootOf(lvalue));
  return at == arrays.end() || strip(lvalue)->getType()->isArrayType() ? nullptr : &at->second;
}

const std::string *ThreadReader::elementName(const Expr *lvalue) {
  const LocalArray *array = arrayOf(lvalue);
  if (!array || !array->whole.empty())
    return nullptr;
  int64_t place = 0, size = 1;
  const Expr *expr = strip(lvalue);
  while (const auto *subscript = llvm::dyn_cast<ArraySubscriptExpr>(expr)) {
    const Expr *base = strip(subscript->getBase());
    const auto *type = ast.getAsConstantArrayType(base->getType());
    std::optional<Integer> index = evaluate(subscript->getIdx());
    bool isPassed = !type && base->getType()->isPointerType() && variableOf(base); // to a function
    if ((!type && !isPassed) || !index || !index->poly.isConstant())
      return nullptr;
    int64_t length = type ? type->getSize().getZExtValue() : array->names.size() / size;
    int64_t value = index->poly.constantTerm();
    if (value < 0 || value >= length)
      return nullptr;
    place += value * size;
    size *= length;
    expr = base;
  }
  return &array->names[place];
}

bool ThreadReader::indexesArray(const Stmt *body, const VarDecl *variable) const {
  struct Finder : DynamicRecursiveASTVisitor {
    const VarDecl *variable = nullptr;
    const std::map<const VarDecl *, LocalArray> *arrays = nullptr;
    bool inIndex = false, found = false;
    bool TraverseArraySubscriptExpr(ArraySubscriptExpr *subscript) override {
      const VarDecl *root = rootOf(subscript);
      auto known = arrays->find(root);
      bool isWhole = known != arrays->end() && !known->second.whole.empty();
      bool isOwn = root && !isWhole &&
                   ((root->isLocalVarDecl() && !root->hasGlobalStorage() &&
                     root->getType()->isArrayType()) ||
                    arrays->count(root));
      TraverseStmt(subscript->getBase());
      bool outer = std::exchange(inIndex, inIndex || isOwn);
      TraverseStmt(subscript->getIdx());
      inIndex = outer;
      return true;
    }
    bool VisitDeclRefExpr(DeclRefExpr *reference) override {
      found |= inIndex && reference->getDecl() == variable;
      return true;
    }
  } finder;
  finder.variable = variable;
  finder.arrays = &arrays;
  finder.TraverseStmt(const_cast<Stmt *>(body));
  return finder.found;
}

bool ThreadReader::unroll(const ForStmt *loop, const VarDecl *variable, const Statement &header,
                          Body &out) {
  if (header.progress != Statement::Add || !header.begin.isConstant() || !header.end.isConstant() ||
      !header.step.isConstant() || !indexesArray(loop->getBody(), variable))
    return false;
  int64_t begin = header.begin.constantTerm(), end = header.end.constantTerm(),
          step = header.step.constantTerm();
  int64_t iterations = begin < end ? (end - begin + step - 1) / step : 0;
  if (iterations > mostIterations || (unrolled += iterations) > mostCopies) {
    refuse("the loop over '" + variable->getNameAsString() +
           "' indexes an array of the thread too often");
    return true;
  }
  ++loopDepth;
  for (int64_t value = begin; value < end && !failed(); value += step) {
    values[variable] = {
        Value::Number, ofType(Poly::constant(value), variable->getType(), true), {}, {}};
    readSequence({loop->getBody()}, out);
  }
  --loopDepth;
  values.erase(variable);
  return true;
}

} // namespace kbopt::raise
