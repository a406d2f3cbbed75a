//===- Doubles.cpp - Float expressions that compute in double -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which expressions of a kernel double literals make double, in the device code and not only
// in the text.
//
//===----------------------------------------------------------------------===//
#include "Collect.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "clang/Basic/SourceManager.h"

using namespace kbopt;
using namespace clang;

static bool isDouble(QualType type) { return type->isSpecificBuiltinType(BuiltinType::Double); }

/// What \p statement is as a whole double expression: one that is rounded to float, compared, or
/// computed for an assignment. An empty range if it is none.
static SourceRange doubleRange(const Stmt *statement) {
  if (const auto *cast = dyn_cast<CastExpr>(statement);
      cast && cast->getCastKind() == CK_FloatingCast && isDouble(cast->getSubExpr()->getType()))
    return cast->getSubExpr()->getSourceRange();
  if (const auto *test = dyn_cast<BinaryOperator>(statement);
      test && test->isComparisonOp() && isDouble(test->getLHS()->getType()))
    return test->getSourceRange();
  if (const auto *assign = dyn_cast<CompoundAssignOperator>(statement);
      assign && isDouble(assign->getComputationResultType()))
    return assign->getSourceRange();
  return {};
}

CodeOffsets::CodeOffsets(const PassContext &context, const KernelView &kernel,
                         std::vector<CodePlace> OptimisedCode::*places) {
  const SourceManager &sources = context.parsed().sources();
  for (kb::KernelOp op : kernel.ops)
    for (CodePlace place : context.imported().optimisedCodeOf(op).*places)
      offsets.push_back(sources.getFileOffset(
          sources.translateLineCol(sources.getMainFileID(), place.line, place.column)));
  llvm::sort(offsets);
}

bool CodeOffsets::isIn(unsigned begin, unsigned end) const {
  auto first = llvm::lower_bound(offsets, begin);
  return first != offsets.end() && *first < end;
}

std::vector<FindingPlace> kbopt::doubleExpressions(const PassContext &context,
                                                   const KernelView &kernel,
                                                   const Rewrite &rewrite) {
  const CodeOffsets doubles(context, kernel, &OptimisedCode::doubles);
  std::vector<FindingPlace> places;
  auto visit = [&](const Stmt *each) {
    SourceRange range = doubleRange(each);
    std::optional<FindingPlace> place =
        range.isValid() ? placeOf(context, range) : std::optional<FindingPlace>();
    // An expression is walked before those inside it.
    if (place && touches(rewrite.edits, *place) && doubles.isIn(place->begin, place->end) &&
        llvm::none_of(places, [&](const FindingPlace &outer) {
          return place->begin < outer.end && outer.begin < place->end;
        }))
      places.push_back(*place);
    return true;
  };
  for (const FunctionDecl *function : ast::deviceFunctionsIn(context, kernel))
    ast::walk(function->getBody(), visit);
  llvm::sort(places);
  return places;
}
