//===- ScanElements.cpp - The elements of a thread of a scan --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Accesses.h"
#include "ScanPrinter.h"

using namespace kbopt;
using namespace mlir;

static std::string elementType(kb::OperandAttr operand) {
  StringRef type = operand.getType();
  type.consume_front("const ");
  return type.str();
}

/// `xs[e]`, or nothing for what no array holds.
std::string ScanPrinter::heldText(kb::OperandAttr operand, StringRef dim) {
  if (operand.getKind() != kb::OperandKind::Element)
    return "";
  std::string key = elementKey(text, operand, dim);
  for (const HeldElements &each : held)
    if (each.key == key)
      return each.array + "[" + (each.isMirrored ? widthName + " - 1 - " : "") + element + "]";
  return "";
}

/// Moves the elements of \p each from memory, or to it.
void ScanPrinter::move(CodeLines &code, const HeldElements &each, bool isLoad) {
  auto memoryAt = [&](const std::string &at) {
    text.setName(each.dim, at);
    std::string memory = text.operand(each.operand);
    text.setName(each.dim, each.dim);
    return memory;
  };
  if (isPartial())
    code.open("if (" + first + " <= " + extent + " - " + widthName + ")");
  std::string lowest = each.isMirrored ? first + " + " + widthName + " - 1" : first;
  printVector(code, each.operand, width, each.array, memoryAt(lowest), isLoad);
  if (!isPartial())
    return;
  code.close().line("else").indent();
  code.unroll().open("for (int " + element + " = 0; " + element + " < " + widthName + "; ++" +
                     element + ")");
  std::string at = first + " + " + element, memory = memoryAt(at),
              array = heldText(each.operand, each.dim);
  code.open("if (" + at + " < " + extent + ")");
  code.line(isLoad ? array + " = " + memory + ";" : memory + " = " + array + ";");
  code.close().close().outdent();
}

/// What the elements of a thread do: their terms alone, or all.
void ScanPrinter::printElements(CodeLines &code, bool areTerms) {
  for (auto [value, names] : llvm::zip(scan.carried, values))
    text.setScalar(value.name, areTerms ? names.own : names.upTo);
  CodeLines draft(0);
  printElement(draft, areTerms);
  std::string used = draft.take();
  if (width > 1) {
    code.unroll().open("for (int " + element + " = 0; " + element + " < " + widthName + "; ++" +
                       element + ")");
    if (mentions(used, scan.dim) || scan.guard || isPartial())
      code.line("const int " + scan.dim + " = " + first + " + " + element + ";");
  }
  bool isAsked = scan.guard || isPartial();
  if (isAsked)
    code.open("if (" + (scan.guard ? text.condition(scan.guard) : scan.dim.str() + " < " + extent) +
              ")");
  printElement(code, areTerms);
  if (isAsked)
    code.close();
  if (width > 1)
    code.close();
  for (const CarriedValue &value : scan.carried)
    text.setScalar(value.name, value.name);
}

void ScanPrinter::printElement(CodeLines &code, bool areTerms) {
  StatementPrinter statements{text, code,
                              [&](kb::OperandAttr operand) { return heldText(operand, scan.dim); }};
  Operation *last = nullptr; // the sum that follows the element
  for (Operation *op : scan.body) {
    if (areTerms && !scan.needed.contains(op))
      continue;
    if (!isa<kb::OverOp>(op))
      statements.print(op);
    else if (scan.isExclusiveSum)
      last = op;
    else
      printTerms(code, cast<kb::OverOp>(op), areTerms);
  }
  if (!last)
    return;
  std::string next = scan.dim.str() + " + 1", condition = next + " < " + extent;
  if (scan.guard) {
    text.setName(scan.dim, "(" + next + ")");
    condition += " && " + text.condition(scan.guard);
    text.setName(scan.dim, scan.dim);
  }
  code.open("if (" + condition + ")");
  printTerms(code, cast<kb::OverOp>(last), areTerms);
  code.close();
}

/// The term of one element in a sum over what comes before.
void ScanPrinter::printTerms(CodeLines &code, kb::OverOp over, bool areTerms) {
  StatementPrinter statements{
      text, code, [&](kb::OperandAttr operand) { return heldText(operand, scan.termDim); }};
  for (auto [value, names] : llvm::zip(scan.carried, values))
    statements.partial[value.name] = areTerms ? names.own : names.upTo;
  text.setName(scan.termDim, scan.dim);
  // Its scalars may have the names of those around it.
  bool hasScalars =
      llvm::any_of(over.getBody().front(), [](Operation &op) { return isa<kb::LetOp>(op); });
  if (hasScalars)
    code.open("");
  statements.print(over.getBody().front());
  if (hasScalars)
    code.close();
  text.setName(scan.termDim, scan.termDim);
}

void ScanPrinter::printOwn(CodeLines &code, bool isAll) {
  std::string lane = "threadIdx.x" + std::string(width > 1 ? " * " + widthName : "");
  code.line("const int " + first + " = " + tile + " + " + lane + ";");
  for (auto [value, names] : llvm::zip(scan.carried, values))
    code.line(value.type + " " + names.own + " = " + value.identity + ";");
  for (const HeldElements &each : held)
    if (isAll || each.isOfTerm)
      code.line("alignas(16) " + elementType(each.operand) + " " + each.array + "[" + widthName +
                "];");
  code.open("if (" + first + " < " + extent + ")");
  for (const HeldElements &each : held)
    if (each.loads && (isAll || each.isOfTerm))
      move(code, each, true);
  printElements(code, true);
  code.close();
}

void ScanPrinter::printResults(CodeLines &code) {
  printBefore(code);
  printElementsOnce(code);
}

void ScanPrinter::printElementsAfter(CodeLines &code, StringRef upTo) {
  code.line(scan.carried.front().type + " " + values.front().upTo + " = " + upTo + ";");
  printElementsOnce(code);
}

void ScanPrinter::printElementsOnce(CodeLines &code) {
  code.open("if (" + first + " < " + extent + ")");
  printElements(code, false);
  for (const HeldElements &each : held)
    if (each.stores)
      move(code, each, false);
  code.close();
}
