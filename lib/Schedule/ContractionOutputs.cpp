//===- ContractionOutputs.cpp - Before and after the sums -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how initial values and what follows the sums are printed: the user's statements for each
// output of a thread.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "ContractionPrinter.h"

using namespace kbopt;
using namespace mlir;

/// The statements of \p all that \p users need, in order.
static std::vector<kb::LetOp> needed(ArrayRef<kb::LetOp> all, ArrayRef<Operation *> users,
                                     const Contraction &contraction) {
  std::vector<kb::LetOp> chosen;
  SmallVector<Operation *> reached(users);
  for (size_t k = all.size(); k-- > 0;) {
    kb::LetOp let = all[k];
    bool isUsed = !contraction.isSum(let.getName()) &&
                  llvm::any_of(reached, [&](Operation *op) { return mentions(op, let.getName()); });
    if (!isUsed)
      continue;
    reached.push_back(let);
    chosen.insert(chosen.begin(), let);
  }
  return chosen;
}

void ContractionPrinter::printInitialValues() {
  SmallVector<Operation *> initial;
  bool reads = false;
  for (kb::LetOp let : contraction.perOutput)
    if (contraction.isSum(let.getName())) {
      initial.push_back(let);
      reads |= !operandsOf(let).empty();
    }
  std::vector<kb::LetOp> before = needed(contraction.perOutput, initial, contraction);
  bool areZero = before.empty() && initial.size() == contraction.sums.size() &&
                 llvm::all_of(initial, [](Operation *op) {
                   return isZeroText(cast<kb::LetOp>(op).getText());
                 });
  for (const auto &[sum, type] : contraction.sums)
    code.line(type + " " + sums[sum] + sumExtents() + (areZero ? " = {};" : ";"));
  if (areZero)
    return;
  code.unroll().open("for (int " + i + " = 0; " + i + " < " + rowCount() + "; ++" + i + ")");
  reads |= !before.empty();
  auto declareUsed = [&](bool isRow, const std::string &value) {
    const std::string &side = isRow ? contraction.row.name : contraction.column.name;
    code.line("const int " + side + " = " + value + ";");
    if (contraction.partsOf(isRow).size() > 1)
      declareParts(isRow, side, [&](const NestDim &part) {
        auto isUsed = [&](Operation *let) {
          return llvm::any_of(
              operandsOf(let).getAsRange<kb::OperandAttr>(),
              [&](kb::OperandAttr operand) { return dependsOn(operand.getOffset(), part.name); });
        };
        return llvm::any_of(initial, isUsed) || llvm::any_of(before, isUsed) ? part.name : "";
      });
  };
  if (reads)
    declareUsed(true, rowAt(i));
  StatementPrinter print{text, code};
  bool isSimple = initial.size() == contraction.sums.size() && !reads;
  auto printValues = [&] {
    for (kb::LetOp let : contraction.perOutput) {
      bool isSum = contraction.isSum(let.getName());
      if (!isSum && !llvm::is_contained(before, let))
        continue;
      if (isSum && isSimple)
        code.line(sumAt(sums[let.getName().str()], i, j) + " = " +
                  text.fill(let.getText(), let.getOperands()) + ";");
      else
        print.print(let);
    }
  };
  auto leaveOut = [&](const std::string &condition) {
    code.open("if (" + condition + ")").line("continue;").close();
  };
  bool isOfRow = reads && !contraction.selectsPoints() && !readsColumn(initial, before);
  if (isOfRow) { // the same for all columns
    leaveOut(contraction.row.name + " >= " + rows);
    printValues();
  }
  code.unroll().open("for (int " + j + " = 0; " + j + " < " + columnCount() + "; ++" + j + ")");
  if (isSplit()) { // only the first part begins with the given values
    for (const auto &[sum, type] : contraction.sums)
      code.line(sumAt(sums[sum], i, j) + " = 0;");
    leaveOut(part + " > 0");
  }
  if (!isOfRow) {
    if (reads) {
      declareUsed(false, columnAt(j));
      leaveOut(isOutside(contraction.column.name) + points(true));
    }
    printValues();
  }
  if (!isSimple)
    for (const auto &[sum, type] : contraction.sums)
      code.line(sumAt(sums[sum], i, j) + " = " + sum + ";");
  code.close().close();
}

std::string ContractionPrinter::isOutside(StringRef column) {
  return contraction.row.name + " >= " + rows + " || " + column.str() + " >= " + columns;
}

/// The condition on points with a sum, or ` || ` and its opposite.
std::string ContractionPrinter::points(bool negated) {
  std::string all;
  for (kb::ExprAttr condition : contraction.conditions)
    all += (negated ? " || " : all.empty() ? "" : " && ") + comparison(text, condition, negated);
  return all;
}

bool ContractionPrinter::storesVectors() {
  auto store =
      contraction.after.empty() ? kb::StoreOp() : dyn_cast<kb::StoreOp>(contraction.after.back());
  if (!shape.isVector || neighbours() == 1 ||
      (contraction.selectsPoints() && !contraction.instead) || !store || store.getAtomic() ||
      neighbours() * store.getTarget().getBytes() > 16)
    return false;
  for (Operation *op : ArrayRef(contraction.after).drop_back())
    if (op->walk([](Operation *each) {
            return isa<kb::LetOp, kb::WhenOp>(each) ? WalkResult::advance()
                                                    : WalkResult::interrupt();
          }).wasInterrupted())
      return false;
  Needs more = needs;
  const NestDim &along = contraction.partsOf(false).back();
  auto whole = multipleConditions(text.nest(), along.extent, "", neighbours());
  if (!whole || !isVector(text, store.getTarget(), text.nest().getBody().front(), along.name,
                          neighbours(), &more))
    return false;
  for (const std::string &condition : *whole)
    more.expression(condition);
  needs = more;
  return true;
}

/// Whether \p all name the column.
bool ContractionPrinter::readsColumn(ArrayRef<Operation *> all, ArrayRef<kb::LetOp> lets) {
  auto reads = [&](Operation *op) {
    return mentions(op, contraction.partsOf(false).back().name) ||
           llvm::any_of(operandsOf(op).getAsRange<kb::OperandAttr>(), [&](kb::OperandAttr operand) {
             return contraction.dependsOnSide(operand.getOffset(), false);
           });
  };
  return llvm::any_of(all, reads) || llvm::any_of(lets, reads);
}

/// Whether the statements after the sum name the column, but for where \p store stores.
bool ContractionPrinter::readsColumn(kb::StoreOp store) {
  bool isOther = llvm::any_of(contraction.after, [&](Operation *op) {
    return op != store.getOperation() && !isa<kb::LetOp>(op);
  });
  return contraction.instead || isOther ||
         readsColumn(contraction.after,
                     needed(contraction.perOutput, contraction.after, contraction));
}

void ContractionPrinter::printParts() {
  std::string each = threads + " / " + split, place = text.freshName("place"),
              other = text.freshName("other");
  auto loop = [&](llvm::function_ref<void()> body) {
    code.unroll().open("for (int " + i + " = 0; " + i + " < " + rowCount() + "; ++" + i + ")");
    code.unroll().open("for (int " + j + " = 0; " + j + " < " + columnCount() + "; ++" + j + ")");
    body();
    code.close().close();
  };
  std::map<std::string, std::string> parts;
  for (const auto &[sum, type] : contraction.sums) {
    parts[sum] = text.freshName(sum + "Parts");
    std::string extents =
        "[" + split + " - 1][" + rowCount() + "][" + columnCount() + "][" + each + "]";
    declareShared(type, parts[sum], extents, " // of all parts but the first");
  }
  code.line("const int " + place + " = threadIdx.x % (" + each + ");");
  auto partAt = [&](const std::string &sum, const std::string &which) {
    return parts[sum] + "[" + which + "][" + i + "][" + j + "][" + place + "]";
  };
  code.open("if (" + part + " > 0)");
  loop([&] {
    for (const auto &[sum, type] : contraction.sums)
      code.line(partAt(sum, part + " - 1") + " = " + sumAt(sums[sum], i, j) + ";");
  });
  code.close().line("__syncthreads();");
  code.open("if (" + part + " > 0)").line("return;").close();
  code.unroll().open("for (int " + other + " = 0; " + other + " < " + split + " - 1; ++" + other +
                     ")");
  loop([&] {
    for (const auto &[sum, type] : contraction.sums)
      code.line(sumAt(sums[sum], i, j) + " += " + partAt(sum, other) + ";");
  });
  code.close();
}

void ContractionPrinter::printAfter() {
  bool isVector = storesVectors();
  if (mayDoubt()) {
    again = text.freshName("again");
    code.line("unsigned " + again + "[" + rowCount() +
              "] = {}; // outputs that are summed as given");
  }
  int64_t pack = neighbours();
  // The column whose neighbours are stored at once.
  const std::string &column = contraction.partsOf(false).back().name;
  std::string part = isVector ? text.freshName("q") : "",
              out = isVector ? text.freshName("out") : "";
  std::string chunk = isVector ? text.freshName(column + "First") : column,
              first = contraction.columnParts.empty() ? chunk : contraction.column.name;
  bool isMasked = isVector && contraction.instead;
  bool isBeside =
      !isMasked && (!contraction.besideBefore.empty() || !contraction.besideAfter.empty());
  auto openRows = [&] {
    code.unroll().open("for (int " + i + " = 0; " + i + " < " + rowCount() + "; ++" + i + ")");
    declareSide(true, rowAt(i));
  };
  auto openColumns = [&] {
    code.unroll().open("for (int " + j + " = 0; " + j + " < " + columnCount() + "; " +
                       (isVector ? j + " += " + std::to_string(pack) : "++" + j) + ")");
    code.line("const int " + first + " = " + columnAt(j) + ";");
  };
  auto leaveOut = [&](const std::string &condition) {
    code.open("if (" + condition + ")").line("continue;").close();
  };
  if (contraction.columnParts.empty()) {
    openRows(), openColumns();
    leaveOut(isOutside(first) + (isBeside || isMasked ? "" : points(true)));
  } else { // what a column numbers is computed once for all rows
    openColumns();
    leaveOut(first + " >= " + columns);
    declareParts(false, first,
                 [&](const NestDim &part) { return part.name == column ? chunk : part.name; });
    openRows();
    leaveOut(contraction.row.name + " >= " + rows + (isBeside || isMasked ? "" : points(true)));
  }
  if (mayDoubt())
    printDoubt(isVector ? chunk : "", isVector ? pack : 1);
  StatementPrinter print{text, code};
  if (isBeside)
    for (Operation *op : contraction.besideBefore)
      print.print(op);
  if (isBeside)
    code.open("if (" + points(false) + ")");
  auto store = isVector ? cast<kb::StoreOp>(contraction.after.back()) : kb::StoreOp();
  std::string type = isVector ? store.getTarget().getType().str() : "";
  if (isVector) {
    code.line("alignas(" + std::to_string(pack * store.getTarget().getBytes()) + ") " + type + " " +
              out + "[" + std::to_string(pack) + "];");
    code.unroll().open("for (int " + part + " = 0; " + part + " < " + std::to_string(pack) +
                       "; ++" + part + ")");
    if (readsColumn(store))
      code.line("const int " + column + " = " + chunk + " + " + part + ";");
  }
  if (isMasked) {
    code.open("if (" + comparison(text, contraction.conditions.front(), true) + ")");
    kb::StoreOp instead = contraction.instead;
    code.line(out + "[" + part + "] = " + text.fill(instead.getText(), instead.getOperands()) +
              ";");
    code.line("continue;").close();
  }
  for (kb::LetOp let : needed(contraction.perOutput, contraction.after, contraction))
    print.print(let);
  for (const auto &[sum, sumType] : contraction.sums)
    code.line(sumType + " " + sum + " = " + sumAt(sums[sum], i, isVector ? j + " + " + part : j) +
              ";");
  for (Operation *op : contraction.after)
    if (op != store.getOperation())
      print.print(op);
  if (isBeside) {
    code.close();
    for (Operation *op : contraction.besideAfter)
      print.print(op);
  }
  if (isVector) {
    code.line(out + "[" + part + "] = " + text.fill(store.getText(), store.getOperands()) + ";")
        .close();
    text.setName(column, chunk);
    std::string vector = vectorType(type, pack * store.getTarget().getBytes());
    code.line("*reinterpret_cast<" + vector + " *>(&" + text.operand(store.getTarget()) +
              ") = *reinterpret_cast<" + vector + " *>(" + out + ");");
    text.setName(column, column);
  }
  code.close().close();
  if (mayDoubt())
    printAgain();
}
