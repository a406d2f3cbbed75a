//===- DefaultArguments.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/DefaultArguments.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/Expr.h"
#include "clang/AST/Stmt.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <optional>

using namespace kbopt;

namespace {

/// An argument in a statement: its number, and whether what reads it takes more than 32 bits.
struct Use {
  unsigned number;
  bool isWide;
};

class Arguments : public clang::DynamicRecursiveASTVisitor {
public:
  Arguments(const clang::FunctionDecl &main, const clang::ASTContext &ast)
      : vector(main.getParamDecl(1)), ast(ast) {}

  bool VisitConditionalOperator(clang::ConditionalOperator *choice) override {
    const clang::Expr *sides[] = {choice->getTrueExpr(), choice->getFalseExpr()};
    for (int i : {0, 1})
      if (const std::optional<Use> use = useIn(sides[i]); use && !useIn(sides[1 - i]))
        note(*use, sides[1 - i]);
    return true;
  }

  bool VisitIfStmt(clang::IfStmt *choice) override {
    noteAssignments(choice->getThen());
    return true;
  }

  std::map<unsigned, DefaultArgument> known;

private:
  const clang::ParmVarDecl *vector; ///< argv
  const clang::ASTContext &ast;

  /// The one argument that \p statement reads.
  std::optional<Use> useIn(const clang::Stmt *statement) const {
    if (!statement)
      return std::nullopt;
    if (const auto *element = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement)) {
      const auto *base =
          llvm::dyn_cast<clang::DeclRefExpr>(element->getBase()->IgnoreParenImpCasts());
      clang::Expr::EvalResult index;
      if (base && base->getDecl() == vector && element->getIdx()->EvaluateAsInt(index, ast))
        return Use{static_cast<unsigned>(index.Val.getInt().getZExtValue()), false};
    }
    std::optional<Use> found;
    for (const clang::Stmt *child : statement->children())
      if (const std::optional<Use> use = useIn(child)) {
        if (found && found->number != use->number)
          return std::nullopt;
        found = use;
      }
    const auto *call = llvm::dyn_cast<clang::CallExpr>(statement);
    const clang::FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
    if (found && callee && callee->getIdentifier())
      found->isWide |=
          llvm::StringSwitch<bool>(callee->getName())
              .Cases({"atol", "atoll", "strtol", "strtoll", "strtoul", "strtoull"}, true)
              .Cases({"stol", "stoll", "stoul", "stoull"}, true)
              .Default(false);
    return found;
  }

  /// \p value, if it is a number, is what \p use has a default of.
  void note(Use use, const clang::Expr *value) {
    if (!value || value->isValueDependent())
      return;
    clang::Expr::EvalResult whole;
    llvm::APFloat number(0.0);
    std::string text;
    if (value->getType()->isIntegerType() && value->EvaluateAsInt(whole, ast))
      text = llvm::toString(whole.Val.getInt(), 10);
    else if (value->getType()->isRealFloatingType() && value->EvaluateAsFloat(number, ast))
      text = llvm::formatv("{0:f9}", number.convertToDouble());
    else
      return;
    use.isWide &= value->getType()->isIntegerType();
    known.try_emplace(use.number, DefaultArgument{std::move(text), use.isWide});
  }

  /// Of `name = f(argv[1])`, the number with which the variable begins.
  void noteAssignments(const clang::Stmt *statement) {
    if (!statement)
      return;
    if (const auto *assignment = llvm::dyn_cast<clang::BinaryOperator>(statement);
        assignment && assignment->getOpcode() == clang::BO_Assign) {
      const auto *target =
          llvm::dyn_cast<clang::DeclRefExpr>(assignment->getLHS()->IgnoreParenImpCasts());
      const auto *variable = target ? llvm::dyn_cast<clang::VarDecl>(target->getDecl()) : nullptr;
      if (const std::optional<Use> use = useIn(assignment->getRHS());
          use && variable && variable->getInit())
        note(*use, variable->getInit());
    }
    for (const clang::Stmt *child : statement->children())
      noteAssignments(child);
  }
};

} // namespace

std::vector<DefaultArgument> kbopt::defaultArguments(const ParsedProgram &program) {
  std::vector<DefaultArgument> all;
  for (const clang::Decl *declaration : program.declarations()) {
    const auto *main = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (!main || !main->isMain() || main->getNumParams() < 2 || !main->hasBody())
      continue;
    Arguments arguments(*main, program.context());
    arguments.TraverseStmt(main->getBody());
    for (auto &[number, argument] : arguments.known) {
      if (number != all.size() + 1)
        break;
      all.push_back(std::move(argument));
    }
  }
  return all;
}
