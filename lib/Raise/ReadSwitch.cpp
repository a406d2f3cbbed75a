//===- ReadSwitch.cpp - Switches as branches ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the view of a switch as a variable and a chain of if statements. The given tree stays as it
// is: what is new refers to its parts.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"

using namespace clang;

namespace kbopt::raise {

namespace {

/// What is done for some labels.
struct Side {
  llvm::SmallVector<const CaseStmt *> labels;
  bool isDefault = false, isClosed = false;
  llvm::SmallVector<Stmt *> statements;
};

} // namespace

/// The sides of \p body in their order; nothing where one is not understood.
static std::optional<std::vector<Side>> sidesOf(const CompoundStmt *body) {
  std::vector<Side> sides;
  for (Stmt *each : body->body()) {
    if (llvm::isa<SwitchCase>(each))
      sides.emplace_back();
    for (; llvm::isa<SwitchCase>(each); each = llvm::cast<SwitchCase>(each)->getSubStmt()) {
      const auto *label = llvm::dyn_cast<CaseStmt>(each);
      if (label && label->caseStmtIsGNURange())
        return std::nullopt;
      if (label)
        sides.back().labels.push_back(label);
      sides.back().isDefault |= !label;
    }
    if (sides.empty())
      return std::nullopt;
    Side &side = sides.back();
    if (side.isClosed)
      continue; // it is never reached
    if (const auto *inner = llvm::dyn_cast<CompoundStmt>(each)) {
      side.isClosed = !inner->body_empty() && llvm::isa<BreakStmt, ReturnStmt>(inner->body_back());
      bool breaks = side.isClosed && llvm::isa<BreakStmt>(inner->body_back());
      side.statements.append(inner->body_begin(), std::prev(inner->body_end(), breaks));
      continue;
    }
    side.isClosed = llvm::isa<BreakStmt, ReturnStmt, ContinueStmt>(each);
    if (!llvm::isa<BreakStmt>(each))
      side.statements.push_back(each);
  }
  // What is not closed goes on with the next side.
  for (size_t i = sides.size(); i-- > 1;)
    if (!sides[i - 1].isClosed)
      sides[i - 1].statements.append(sides[i].statements);
  for (const Side &side : sides)
    if (llvm::any_of(side.statements, hasBreak))
      return std::nullopt;
  return sides;
}

llvm::SmallVector<const Stmt *> ThreadReader::asBranches(const SwitchStmt *choice) {
  if (auto known = switches.find(choice); known != switches.end())
    return known->second;
  const auto *block = llvm::dyn_cast<CompoundStmt>(choice->getBody());
  std::optional<std::vector<Side>> sides;
  if (block && !choice->getInit() && !choice->getConditionVariable())
    sides = sidesOf(block);
  if (!sides) {
    refuse("the switch '" + sourceText(choice->getCond()) + "' is not understood");
    return {};
  }
  auto &context = const_cast<ASTContext &>(ast);
  SourceLocation place = choice->getCond()->getExprLoc();
  Expr *value = const_cast<Expr *>(choice->getCond());
  QualType type = ast.IntTy;
  if (value->getType()->isEnumeralType())
    value =
        CStyleCastExpr::Create(ast, type, VK_PRValue, CK_IntegralCast, value, nullptr,
                               FPOptionsOverride(), context.getTrivialTypeSourceInfo(type), {}, {});
  else
    type = value->getType().getUnqualifiedType();
  auto *variable = VarDecl::Create(context, const_cast<FunctionDecl *>(kernel), place, place,
                                   &context.Idents.get("choice"), type,
                                   context.getTrivialTypeSourceInfo(type), SC_None);
  variable->setInit(value);
  auto *declaration = new (ast) DeclStmt(DeclGroupRef(variable), place, place);
  auto compare = [&](const CaseStmt *label) -> Expr * {
    llvm::APSInt number = label->getLHS()->EvaluateKnownConstInt(ast);
    Expr *name = DeclRefExpr::Create(ast, {}, {}, variable, false, place, type, VK_LValue);
    name = ImplicitCastExpr::Create(ast, type, CK_LValueToRValue, name, nullptr, VK_PRValue,
                                    FPOptionsOverride());
    auto *constant =
        IntegerLiteral::Create(ast, number.extOrTrunc(ast.getTypeSize(type)), type, {});
    return BinaryOperator::Create(ast, name, constant, BO_EQ, ast.BoolTy, VK_PRValue, OK_Ordinary,
                                  {}, FPOptionsOverride());
  };
  Stmt *chain = nullptr;
  auto asBlock = [&](const Side &side) {
    return CompoundStmt::Create(ast, side.statements, FPOptionsOverride(), place, place);
  };
  for (const Side &side : *sides)
    if (side.isDefault)
      chain = asBlock(side);
  for (const Side &side : llvm::reverse(*sides)) {
    Expr *condition = nullptr;
    for (const CaseStmt *label : side.labels)
      condition = !condition
                      ? compare(label)
                      : BinaryOperator::Create(ast, condition, compare(label), BO_LOr, ast.BoolTy,
                                               VK_PRValue, OK_Ordinary, {}, FPOptionsOverride());
    if (condition && !side.isDefault)
      chain = IfStmt::Create(ast, place, IfStatementKind::Ordinary, nullptr, nullptr, condition,
                             place, place, asBlock(side), chain ? place : SourceLocation(), chain);
  }
  llvm::SmallVector<const Stmt *> result{declaration};
  if (chain)
    result.push_back(chain);
  return switches[choice] = result;
}

} // namespace kbopt::raise
