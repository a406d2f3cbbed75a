//===- ReadWholeArrays.cpp - Arrays of a thread that stay arrays ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns arrays of a thread with an index that is not known, or with many elements: each is one
// variable of the point, and a store to an element is an assignment to `x[at]`.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace kbopt::raise {

/// More would not lie in the registers and the first cache of a thread.
constexpr uint64_t mostBytes = 16 << 10;

namespace {

/// Whether every index of an array is a constant or the counter of a loop with constant bounds.
class IndexFinder : public DynamicRecursiveASTVisitor {
public:
  IndexFinder(const VarDecl *array, const ASTContext &ast) : array(array), ast(ast) {}

  bool isUnknown = false; ///< some index is neither
  bool isChanged = false; ///< an element is assigned

  bool TraverseForStmt(ForStmt *loop) override {
    const VarDecl *counter = countedVariable(loop);
    const auto *test = llvm::dyn_cast_or_null<BinaryOperator>(loop->getCond());
    const Expr *begin = counter ? counter->getInit() : nullptr;
    auto isConstant = [&](const Expr *expr) {
      Expr::EvalResult value;
      return expr && !expr->isValueDependent() && expr->EvaluateAsInt(value, ast);
    };
    bool isLeft = hasBreak(loop->getBody()) || hasReturn(loop->getBody()); // then not unrolled
    bool isKnown = counter && test && !isLeft && isConstant(begin) &&
                   (isConstant(test->getLHS()) || isConstant(test->getRHS()));
    if (isKnown)
      counters.insert(counter);
    TraverseStmt(loop->getInit());
    TraverseStmt(loop->getCond());
    TraverseStmt(loop->getInc());
    TraverseStmt(loop->getBody());
    counters.erase(counter);
    return true;
  }
  bool VisitArraySubscriptExpr(ArraySubscriptExpr *subscript) override {
    if (rootOf(subscript) == array)
      isUnknown |= !isKnown(subscript->getIdx());
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator *op) override {
    isChanged |= op->isAssignmentOp() && rootOf(op->getLHS()) == array;
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) override {
    isChanged |= (op->isIncrementDecrementOp() || op->getOpcode() == UO_AddrOf) &&
                 rootOf(op->getSubExpr()) == array;
    return true;
  }
  bool VisitCallExpr(CallExpr *call) override {
    for (const Expr *argument : call->arguments()) {
      isPassed |= variableOf(argument) == array;
      isChanged |= isPassed;
    }
    return true;
  }
  bool isPassed = false; ///< to a function

private:
  bool isKnown(const Stmt *index) {
    Expr::EvalResult value;
    const auto *expr = llvm::dyn_cast<Expr>(index);
    if (expr && !expr->isValueDependent() && expr->EvaluateAsInt(value, ast))
      return true;
    if (llvm::isa<CallExpr, ArraySubscriptExpr, MemberExpr>(index))
      return false;
    if (const auto *reference = llvm::dyn_cast<DeclRefExpr>(index))
      return counters.count(llvm::dyn_cast<VarDecl>(reference->getDecl()));
    return llvm::all_of(index->children(), [&](const Stmt *child) { return isKnown(child); });
  }

  const VarDecl *array;
  const ASTContext &ast;
  std::set<const VarDecl *> counters;
};

} // namespace

bool ThreadReader::declareWhole(const VarDecl *variable, QualType element, uint64_t count,
                                uint64_t mostScalars, Body &out) {
  const auto *function = llvm::dyn_cast<FunctionDecl>(variable->getDeclContext());
  if (!function || cooperates)
    return false;
  IndexFinder uses(variable, ast);
  uses.TraverseStmt(function->getBody());
  bool isLarge = count > mostScalars;
  if ((!isLarge && !uses.isUnknown) || uses.isPassed || !element->isArithmeticType() ||
      count * ast.getTypeSizeInChars(element).getQuantity() > mostBytes)
    return false;
  const Expr *init = variable->getInit();
  LocalArray array;
  array.element = element;
  array.whole = uniqueName(variable->getName());
  Statement let;
  let.kind = Statement::Let;
  let.name = array.whole;
  let.type = typeText(element.getUnqualifiedType());
  for (QualType type = variable->getType(); const auto *each = ast.getAsConstantArrayType(type);
       type = each->getElementType())
    let.type += "[" + llvm::toString(each->getSize(), 10, false) + "]";
  if (init && !uses.isChanged)
    let.value = textOf(init, out);
  const auto *list = llvm::dyn_cast_or_null<InitListExpr>(init);
  bool isZeroed =
      list && llvm::all_of(list->inits(), [&](const Expr *each) {
        Expr::EvalResult value;
        return llvm::isa<ImplicitValueInitExpr>(each) ||
               (each->EvaluateAsRValue(value, ast) &&
                (value.Val.isInt() ? value.Val.getInt() == 0
                                   : value.Val.isFloat() && value.Val.getFloat().isPosZero()));
      });
  if (init && uses.isChanged && (!isZeroed || let.type.find("][") != std::string::npos)) {
    refuse("what the array '" + variable->getNameAsString() + "' starts with is not understood");
    return true;
  }
  out.push_back(std::move(let));
  if (init && uses.isChanged) { // with each point anew
    Space::Variable counter;
    counter.kind = Space::Loop;
    counter.name = uniqueName("at");
    counter.low = 0;
    counter.high = int64_t(count) - 1;
    Statement loop, index, zero;
    loop.kind = Statement::For;
    loop.variable = space.add(counter);
    loop.end = Poly::constant(int64_t(count));
    loop.step = Poly::constant(1);
    program.given[loop.variable] = {loop.begin, loop.end};
    Operand place;
    place.kind = Operand::Index;
    place.type = "int";
    place.bytes = 4;
    place.offset = Poly::variable(loop.variable);
    index.kind = Statement::Let;
    index.name = uniqueName("place");
    index.type = "int";
    index.value = {"$0", {place}};
    zero.kind = Statement::Assign;
    zero.name = array.whole + "[" + index.name + "]";
    zero.value.text = "0";
    loop.body = {std::move(index), std::move(zero)};
    out.push_back(std::move(loop));
  }
  arrays[variable] = std::move(array);
  return true;
}

std::optional<std::string> ThreadReader::wholeElement(const Expr *lvalue, Body &out) {
  const LocalArray *array = arrayOf(lvalue);
  if (!array || array->whole.empty())
    return std::nullopt;
  std::string places;
  for (const auto *subscript = llvm::dyn_cast<ArraySubscriptExpr>(strip(lvalue)); subscript;
       subscript = llvm::dyn_cast<ArraySubscriptExpr>(strip(subscript->getBase()))) {
    std::optional<Integer> known = evaluate(subscript->getIdx());
    if (known && known->poly.isConstant()) {
      places = "[" + std::to_string(known->poly.constantTerm()) + "]" + places;
      continue;
    }
    Statement index;
    index.kind = Statement::Let;
    index.type = typeText(subscript->getIdx()->getType().getUnqualifiedType());
    index.value = textOf(subscript->getIdx(), out);
    index.name = uniqueName("place");
    places = "[" + index.name + "]" + places;
    out.push_back(std::move(index));
  }
  return array->whole + places;
}

bool ThreadReader::assignWhole(const Expr *left, const Expr *right, llvm::StringRef opcode,
                               Body &out) {
  std::optional<std::string> element = wholeElement(left, out);
  if (!element || failed())
    return false;
  Statement assign;
  assign.kind = Statement::Assign;
  assign.name = *element;
  assign.value = right ? textOf(right, out) : Text{"1", {}};
  if (!opcode.empty())
    assign.value.text = *element + " " + opcode.str() + " (" + assign.value.text + ")";
  out.push_back(std::move(assign));
  return true;
}

} // namespace kbopt::raise
