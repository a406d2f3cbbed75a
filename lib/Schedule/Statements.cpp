//===- Statements.cpp - Statements of a nest for one thread -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Statements.h"
#include "Accesses.h"
#include "Breaks.h"

using namespace kbopt;
using namespace mlir;

void StatementPrinter::print(Block &block) {
  for (Operation &op : block) {
    if (text.isHoisted(&op) || declaresBreak(&op))
      continue;
    auto asked = dyn_cast_or_null<kb::WhenOp>(op.getNextNode());
    auto let = dyn_cast<kb::LetOp>(op);
    if (let && asked && asked.getText() == let.getName() && alwaysBreaks(asked, leaves))
      continue; // it is printed with the condition
    print(&op);
    if (auto when = dyn_cast<kb::WhenOp>(op); when && alwaysBreaks(when, leaves)) {
      if (auto rest = dyn_cast_or_null<kb::WhenOp>(op.getNextNode()))
        print(rest.getBody().front());
      return;
    }
  }
}

std::string StatementPrinter::conditionOf(kb::WhenOp when) {
  auto let = dyn_cast_or_null<kb::LetOp>(when->getPrevNode());
  if (let && let.getName() == when.getText() && alwaysBreaks(when, leaves))
    return text.fill(let.getText(), let.getOperands(), replaced);
  return text.condition(when, replaced);
}

std::string StatementPrinter::store(kb::StoreOp store) {
  kb::OperandAttr place = store.getTarget();
  std::string target = staysInMemory(place) ? "" : replaced(place);
  if (!target.empty() && store.getAtomic()) // the thread's own sum
    return target + " += " + text.fill(store.getText(), store.getOperands(), replaced) + ";";
  if (target.empty())
    target = text.operand(place);
  std::string value = text.fill(store.getText(), store.getOperands(), replaced);
  if (auto atomic = store.getAtomic())
    return atomic->str() + "(&" + target + ", " + value + ");";
  return target + " = " + value + ";";
}

void StatementPrinter::combine(kb::ReduceOp reduce, StringRef name, StringRef term) {
  StringRef how = reduce.getCombine();
  if (how == "%a + %b" || how == "%a * %b") {
    code.line(name + " " + how.substr(3, 1) + "= " + term + ";");
    return;
  }
  bool isShort =
      llvm::all_of(term, [](char c) { return llvm::isAlnum(c) || StringRef("_.[]").contains(c); });
  if (how.count("%b") < 2 || isShort) {
    code.line(name + " = " + CudaText::combine(how, name, term) + ";");
    return;
  }
  // The combination names the term twice, but it is to be computed once.
  std::string value = text.freshName("value");
  code.line("const auto " + value + " = " + term + ";");
  code.line(name + " = " + CudaText::combine(how, name, value) + ";");
}

std::string kbopt::loopHead(CudaText &text, kb::OverOp over, bool asksFlag) {
  std::string runs = asksFlag ? over.getText().value_or("").str() : "", name = over.getName().str();
  if (over.isUnbounded())
    return "while (" + (runs.empty() ? "true" : runs) + ")";
  std::string ends = name + " < " + text.expression(over.getExtent());
  return "for (int " + name + " = 0; " + ends + (runs.empty() ? "" : " && " + runs) + "; ++" +
         name + ")";
}

void StatementPrinter::over(kb::OverOp over) {
  bool breaks = endsByBreak(over);
  code.open(loopHead(text, over, !breaks));
  std::string outer = std::exchange(leaves, breaks ? over.getText()->str() : "");
  print(over.getBody().front());
  leaves = std::move(outer);
  code.close();
}

void StatementPrinter::print(Operation *op) {
  if (!leaves.empty() && clears(op, leaves)) {
    code.line("break;");
  } else if (auto let = dyn_cast<kb::LetOp>(op)) {
    std::string value = text.fill(let.getText(), let.getOperands(), replaced);
    // An array's type is `float[3]`, its declaration `float x[3];`.
    StringRef type = let.getReassigns() ? StringRef() : let.getType();
    std::string declared = type.empty() ? "" : type.split('[').first.str() + " ";
    StringRef sizes = type.drop_front(std::min(type.size(), type.find('[')));
    std::string name =
        let.getReassigns() ? text.fill(let.getName(), let.getOperands()) : let.getName().str();
    code.line(declared + name + sizes + (value.empty() ? "" : " = " + value) + ";");
  } else if (auto when = dyn_cast<kb::WhenOp>(op)) {
    code.open("if (" + conditionOf(when) + ")");
    print(when.getBody().front());
    code.close();
  } else if (auto over = dyn_cast<kb::OverOp>(op)) {
    if (!loops || !loops(over))
      this->over(over);
  } else if (auto reduce = dyn_cast<kb::ReduceOp>(op)) {
    auto found = partial.find(reduce.getName().str());
    combine(reduce, found == partial.end() ? reduce.getName() : StringRef(found->second),
            text.fill(reduce.getText(), reduce.getOperands(), replaced));
  } else if (auto store = dyn_cast<kb::StoreOp>(op)) {
    if (!atomics || !store.getAtomic() || !atomics(store))
      code.line(this->store(store));
  }
}

bool kbopt::usesDim(Block &block, StringRef dim,
                    llvm::function_ref<bool(kb::OperandAttr)> isReplaced) {
  bool uses = false;
  auto look = [&](kb::OperandAttr operand) {
    uses |= dependsOn(operand.getOffset(), dim) && !isReplaced(operand);
  };
  block.walk([&](Operation *op) {
    for (auto operand : operandsOf(op).getAsRange<kb::OperandAttr>())
      look(operand);
    if (auto store = dyn_cast<kb::StoreOp>(op))
      look(store.getTarget());
    if (auto over = dyn_cast<kb::OverOp>(op))
      uses |= dependsOn(over.getExtent(), dim);
    if (auto when = dyn_cast<kb::WhenOp>(op))
      if (when.getText().empty() && when.getDomain())
        uses = true;
    if (auto text = op->getAttrOfType<StringAttr>("text"))
      collectIdentifiers(text.getValue(), [&](StringRef word) { uses |= word == dim; });
  });
  return uses;
}
