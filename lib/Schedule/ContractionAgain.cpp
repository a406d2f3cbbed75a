//===- ContractionAgain.cpp - Outputs that are summed as given --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the outputs whose sums zeros may have changed. A tile has zeros where the given kernel adds
// no term. That makes a difference in two cases: zero times an infinite or undefined element is no
// number, and +0 changes a sum of -0. Such sums end as no number, or as zero. What ends so is
// computed once more, in the given kernel's own statements.
//
//===----------------------------------------------------------------------===//

#include "Accesses.h"
#include "Bounds.h"
#include "ContractionPrinter.h"

using namespace kbopt;
using namespace mlir;

bool ContractionPrinter::mayDoubt() const {
  return contraction.leavesOut &&
         llvm::any_of(contraction.sums, [](const auto &sum) { return !isIntegerType(sum.second); });
}

void ContractionPrinter::printDoubt(StringRef first, int64_t count) {
  std::string holds, differs, index = first.empty() ? j : j + " + " + text.freshName("q");
  for (kb::ExprAttr always : contraction.alwaysHolds)
    holds += (holds.empty() ? "" : " && ") + comparison(text, always, false);
  for (const auto &[sum, type] : contraction.sums)
    if (std::string value = sumAt(sums[sum], i, index); !isIntegerType(type))
      differs += (differs.empty() ? "" : " || ") + ("!(" + value + " < 0 || " + value + " > 0)");
  std::string test = "!(" + holds + ") && (" + differs + ")";
  if (contraction.sums.size() == 1)
    test = "!(" + holds + ") && " + differs;
  if (first.empty()) {
    code.open("if (" + test + ")").line(again + "[" + i + "] |= 1u << " + j + ";");
    code.line("continue;").close();
    return;
  }
  std::string q = index.substr(j.size() + 3), isSure = text.freshName("isSure");
  code.line("bool " + isSure + " = true;");
  code.unroll().open("for (int " + q + " = 0; " + q + " < " + std::to_string(count) + "; ++" + q +
                     ")");
  code.line("const int " + contraction.partsOf(false).back().name + " = " + first.str() + " + " +
            q + ";");
  code.line(isSure + " = " + isSure + " && !(" + test + ");").close();
  code.open("if (!" + isSure + ")")
      .line(again + "[" + i + "] |= " + std::to_string((1 << count) - 1) + "u << " + j + ";");
  code.line("continue;").close();
}

void ContractionPrinter::printAgain() {
  code.line("// A sum that is zero or no number may be so because of the zeros.");
  code.unroll(1).open("for (int " + i + " = 0; " + i + " < " + rowCount() + "; ++" + i + ")");
  code.unroll(1).open("for (int " + j + " = 0; " + j + " < " + columnCount() + "; ++" + j + ")");
  code.open("if (!(" + again + "[" + i + "] >> " + j + " & 1))").line("continue;").close();
  declareSide(true, rowAt(i));
  declareSide(false, columnAt(j));
  StatementPrinter{text, code}.print(*contraction.point);
  code.close().close();
}
