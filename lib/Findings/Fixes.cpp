//===- Fixes.cpp - The passes that mend an access -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns whether a pass that applies in a kernel mends one access of it.
//
//===----------------------------------------------------------------------===//
#include "Collect.h"
#include "kb-opt/Rewrite/SchedulePass.h"

using namespace kbopt;

/// Whether \p expr grows by nothing or one when the dimension \p dim of its nest does.
static bool isUnitOrUniform(kb::ExprAttr expr, llvm::StringRef dim) {
  auto found =
      llvm::find_if(expr.getLoops(), [&](mlir::StringAttr name) { return name.getValue() == dim; });
  if (found == expr.getLoops().end())
    return true;
  const mlir::AffineMap map = expr.getMap();
  const unsigned position = kb::firstLoopDim + (found - expr.getLoops().begin());
  mlir::AffineExpr index = mlir::getAffineDimExpr(position, expr.getContext());
  mlir::AffineExpr step =
      mlir::simplifyAffineExpr(expr.getExpr().replace(index, index + 1) - expr.getExpr(),
                               map.getNumDims(), map.getNumSymbols());
  auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(step);
  return constant && (constant.getValue() == 0 || constant.getValue() == 1);
}

/// The elements of \p base that the statements of \p nest use.
static std::vector<kb::OperandAttr> elementsOf(kb::NestOp nest, llvm::StringRef base) {
  std::vector<kb::OperandAttr> elements;
  nest->walk([&](mlir::Operation *op) {
    for (mlir::NamedAttribute attribute : op->getAttrs())
      attribute.getValue().walk([&](kb::OperandAttr operand) {
        if (operand.getKind() == kb::OperandKind::Element && operand.getBase().getName() == base)
          elements.push_back(operand);
      });
  });
  return elements;
}

/// Whether lanes use neighbouring elements where \p access is, when \p kernel has \p schedule: a
/// map names the dimension of its lanes, and the other sketches take one along which elements are
/// neighbours. Fields of neighbouring structures are none.
static bool coalesces(const PassContext &context, const KernelView &kernel,
                      const Schedule &schedule, kb::AccessOp access) {
  kb::NestOp nest = context.raised(kernel).nest;
  if (!nest)
    return false;
  std::vector<std::string> dims;
  if (schedule.has("lanes")) {
    dims.push_back(schedule.string("lanes").str());
  } else {
    for (mlir::Attribute each : nest.getDims())
      dims.push_back(mlir::cast<mlir::StringAttr>(each).str());
    nest->walk([&](kb::OverOp over) { dims.push_back(over.getName().str()); });
  }
  const std::vector<kb::OperandAttr> elements = elementsOf(nest, access.getBase().getName());
  return !elements.empty() && llvm::all_of(elements, [&](kb::OperandAttr element) {
    return element.getBytes() <= int64_t(access.getBytes()) &&
           llvm::any_of(dims, [&](const std::string &dim) {
             return llvm::is_contained(element.getOffset().getLoops(),
                                       mlir::StringAttr::get(nest.getContext(), dim)) &&
                    isUnitOrUniform(element.getOffset(), dim);
           });
  });
}

/// Whether the most promising schedule of \p kernel mends \p access, and nothing but a launch that
/// could choose it is missing.
static bool needsLaunch(const PassContext &context, const KernelView &kernel, kb::AccessOp access) {
  kb::NestOp nest = kernel.launches.empty() ? context.raised(kernel).nest : kb::NestOp();
  if (!nest)
    return false;
  llvm::Expected<Schedule> schedule = mostPromising(context, nest);
  if (schedule)
    schedule = completed(context, nest, *schedule);
  if (schedule)
    return coalesces(context, kernel, *schedule, access);
  llvm::consumeError(schedule.takeError());
  return false;
}

/// Whether \p applied, of a pass against \p rule, mends \p access: it changes its variable or its
/// text, schedules its kernel anew, or changes which axis of the block goes along rows.
static bool mends(const PassContext &context, llvm::StringRef rule, const AppliedSite &applied,
                  kb::AccessOp access) {
  if (const auto *variable = applied.site.as<clang::VarDecl>())
    return variable->getName() == access.getBase().getName();
  if (applied.rewrite.schedule)
    return coalesces(context, *applied.site.kernel, *applied.rewrite.schedule, access);
  std::optional<FindingPlace> place =
      placeOf(context, context.imported().exprOf(access)->getSourceRange());
  if (place && touches(applied.rewrite.edits, *place))
    return true;
  const LaunchValues values = LaunchValues::common(access->getParentOfType<kb::KernelOp>());
  const StrideClass other = laneStride(access, values.block[0] == 1 ? 0 : 1, values).kind;
  return rule == "uncoalesced-access" &&
         (other == StrideClass::Unit || other == StrideClass::Uniform);
}

/// Whether \p pass is for what \p access does: structures are taken apart where neighbouring
/// threads access a field of neighbouring structures.
static bool isFor(const PassContext &context, llvm::StringRef pass, kb::AccessOp access) {
  if (pass != "aos-to-soa")
    return true;
  const LaunchValues values = LaunchValues::common(access->getParentOfType<kb::KernelOp>());
  const LaneStride stride = laneStride(access, values.block[0] == 1 ? 1 : 0, values);
  if (stride.kind != StrideClass::Constant)
    return false;
  const clang::ASTContext &ast = context.parsed().context();
  const clang::Expr *expr = context.imported().exprOf(access)->IgnoreParenImpCasts();
  for (;;) {
    if (const auto *subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(expr)) {
      expr = subscript->getBase()->IgnoreParenImpCasts();
      continue;
    }
    const auto *member = llvm::dyn_cast<clang::MemberExpr>(expr);
    if (!member)
      return false;
    clang::QualType type = member->getBase()->getType();
    type = member->isArrow() ? type->getPointeeType() : type;
    if (!type.isNull() && !type->isDependentType() && !type->isIncompleteType() &&
        ast.getTypeSizeInChars(type).getQuantity() == std::abs(stride.bytes))
      return true;
    expr = member->getBase()->IgnoreParenImpCasts();
  }
}

void kbopt::tryPasses(const PassContext &context, const KernelView &kernel, PassTrials &trials,
                      kb::AccessOp access, ProgramFinding &finding) {
  const auto &passes = findingRule(finding.rule)->passes;
  for (llvm::StringRef pass : passes)
    for (const AppliedSite &applied : trials.at(pass, kernel))
      if (isFor(context, pass, access) && mends(context, finding.rule, applied, access))
        return trials.setPass(finding, pass, applied.rewrite);
  constexpr llvm::StringLiteral schedule = "schedule";
  if (llvm::is_contained(passes, schedule) && needsLaunch(context, kernel, access)) {
    finding.unlaunchedPass = schedule.str();
    return;
  }
  const auto *assisted = llvm::find_if(passes, [&](llvm::StringRef pass) {
    return !pass.empty() && isFor(context, pass, access) && trials.isAskable(pass, kernel);
  });
  if (assisted != passes.end())
    finding.assistedPass = assisted->str();
}
