//===- SortedArrays.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/SortedArrays.h"
#include "kb-opt/Plan/Workload.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringSwitch.h"
#include <optional>

using namespace kbopt;
using kbrt::ElementType;

namespace {

/// The argument of \p function that is in order when it returns, from 0, without an execution
/// policy; nothing if none is.
std::optional<unsigned> orderedArgument(const clang::FunctionDecl &function) {
  if (!function.getIdentifier())
    return std::nullopt;
  const auto *space = llvm::dyn_cast<clang::NamespaceDecl>(
      function.getDeclContext()->getEnclosingNamespaceContext());
  while (space && llvm::isa<clang::NamespaceDecl>(space->getParent()))
    space = llvm::cast<clang::NamespaceDecl>(space->getParent());
  const bool isC = !space && function.getName() == "qsort";
  if (!isC && !(space && (space->getName() == "std" || space->getName() == "thrust")))
    return std::nullopt;
  return llvm::StringSwitch<std::optional<unsigned>>(function.getName())
      .Cases({"sort", "stable_sort", "qsort"}, 0)
      .Cases({"partial_sum", "inclusive_scan", "exclusive_scan"}, 2) // where the sums go
      .Default(std::nullopt);
}

/// The argument of the CUDA call \p function whose bytes the device gets.
std::optional<unsigned> uploadedArgument(const clang::FunctionDecl &function) {
  if (!function.getIdentifier())
    return std::nullopt;
  return llvm::StringSwitch<std::optional<unsigned>>(function.getName())
      .Cases({"cudaMemcpy", "cudaMemcpyAsync", "cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync"}, 1)
      .Cases({"cudaMemcpy2D", "cudaMemcpy2DAsync"}, 2)
      .Cases({"cudaMallocManaged", "cudaHostAlloc", "cudaMallocHost"}, 0)
      .Default(std::nullopt);
}

bool isExecutionPolicy(const clang::Expr &argument) {
  const auto *record = argument.getType().getNonReferenceType()->getAsCXXRecordDecl();
  return record && record->getName().contains("policy");
}

/// The type of the numbers behind a pointer, an array, an iterator or a container.
ElementType elementBehind(clang::QualType type, const clang::ASTContext &ast) {
  type = type.getNonReferenceType().getCanonicalType();
  if (type->isPointerType())
    return elementBehind(type->getPointeeType(), ast);
  if (const auto *array = ast.getAsArrayType(type))
    return elementBehind(array->getElementType(), ast);
  if (const auto *record = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(
          type->getAsCXXRecordDecl()))
    for (const clang::TemplateArgument &argument : record->getTemplateArgs().asArray())
      if (argument.getKind() == clang::TemplateArgument::Type)
        return elementBehind(argument.getAsType(), ast);
  return scalarElement(type.getUnqualifiedType().getAsString(ast.getPrintingPolicy()));
}

/// The variable, member or function whose memory \p expression stands for; null if that is not
/// known.
const clang::Decl *rootOf(const clang::Expr *expression) {
  while (expression) {
    expression = expression->IgnoreParenCasts()->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
    if (const auto *use = llvm::dyn_cast<clang::DeclRefExpr>(expression))
      return llvm::isa<clang::VarDecl>(use->getDecl()) ? use->getDecl()->getCanonicalDecl()
                                                       : nullptr;
    if (const auto *member = llvm::dyn_cast<clang::MemberExpr>(expression))
      return member->getMemberDecl()->getCanonicalDecl();
    if (const auto *unary = llvm::dyn_cast<clang::UnaryOperator>(expression))
      expression = unary->getSubExpr();
    else if (const auto *element = llvm::dyn_cast<clang::ArraySubscriptExpr>(expression))
      expression = element->getBase();
    else if (const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(expression))
      expression =
          binary->getRHS()->getType()->isPointerType() ? binary->getRHS() : binary->getLHS();
    else if (const auto *call = llvm::dyn_cast<clang::CXXMemberCallExpr>(expression))
      expression = call->getImplicitObjectArgument(); // begin(), data(), get()
    else if (const auto *op = llvm::dyn_cast<clang::CXXOperatorCallExpr>(expression))
      expression = op->getArg(0);
    else if (const auto *call = llvm::dyn_cast<clang::CallExpr>(expression)) {
      const clang::FunctionDecl *callee = call->getDirectCallee();
      if (!callee || !callee->isInStdNamespace())
        return callee ? callee->getCanonicalDecl() : nullptr;
      expression = call->getNumArgs() ? call->getArg(0) : nullptr; // std::begin, std::move
    } else if (const auto *made = llvm::dyn_cast<clang::CXXConstructExpr>(expression))
      expression = made->getNumArgs() ? made->getArg(0) : nullptr; // a copy, or of a range
    else
      return nullptr;
  }
  return nullptr;
}

/// Puts what stands for the same memory together, and notes what is sorted and what is uploaded.
class Arrays : public clang::DynamicRecursiveASTVisitor {
public:
  explicit Arrays(const clang::ASTContext &ast) : ast(ast) {
    ShouldVisitTemplateInstantiations = true;
  }

  bool VisitVarDecl(clang::VarDecl *variable) override {
    if (variable->hasInit() && !variable->getType()->isArithmeticType())
      join(variable->getCanonicalDecl(), rootOf(variable->getInit()));
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator *assignment) override {
    if (assignment->isAssignmentOp() && assignment->getType()->isPointerType())
      join(rootOf(assignment->getLHS()), rootOf(assignment->getRHS()));
    return true;
  }
  bool VisitCXXOperatorCallExpr(clang::CXXOperatorCallExpr *assignment) override {
    if (assignment->getOperator() == clang::OO_Equal)
      join(rootOf(assignment->getArg(0)), rootOf(assignment->getArg(1)));
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr *made) override {
    joinParameters(*made->getConstructor(), {made->getArgs(), made->getNumArgs()});
    return true;
  }
  bool VisitCallExpr(clang::CallExpr *call) override {
    const clang::FunctionDecl *callee = call->getDirectCallee();
    if (!callee || llvm::isa<clang::CXXOperatorCallExpr>(call))
      return true;
    const llvm::ArrayRef<const clang::Expr *> arguments(call->getArgs(), call->getNumArgs());
    if (auto number = orderedArgument(*callee); number && !arguments.empty()) {
      *number += isExecutionPolicy(*arguments[0]);
      if (*number < arguments.size())
        if (const clang::Decl *root = rootOf(arguments[*number]))
          sorted.emplace_back(
              root, elementBehind(arguments[*number]->IgnoreParenCasts()->getType(), ast));
    } else if (auto number = uploadedArgument(*callee); number && *number < arguments.size()) {
      if (const clang::Decl *root = rootOf(arguments[*number]))
        uploaded.push_back(root);
    } else {
      joinParameters(*callee, arguments);
    }
    return true;
  }
  bool TraverseFunctionDecl(clang::FunctionDecl *function) override {
    const clang::FunctionDecl *outer = std::exchange(within, function->getCanonicalDecl());
    const bool goesOn = clang::DynamicRecursiveASTVisitor::TraverseFunctionDecl(function);
    within = outer;
    return goesOn;
  }
  bool VisitReturnStmt(clang::ReturnStmt *end) override {
    if (within && end->getRetValue() && !end->getRetValue()->getType()->isArithmeticType())
      join(within, rootOf(end->getRetValue()));
    return true;
  }

  std::vector<SortedArray> result() {
    std::vector<SortedArray> all;
    for (const auto &[root, element] : sorted) {
      const bool isUploaded = llvm::any_of(uploaded, [&, root = root](const clang::Decl *other) {
        return root == other || same.isEquivalent(root, other);
      });
      const auto *named = llvm::dyn_cast<clang::NamedDecl>(root);
      if (isUploaded && named && element != ElementType::Unknown)
        all.push_back({named->getNameAsString(), element});
    }
    return all;
  }

private:
  void join(const clang::Decl *one, const clang::Decl *other) {
    if (one && other)
      same.unionSets(one, other);
  }
  void joinParameters(const clang::FunctionDecl &callee,
                      llvm::ArrayRef<const clang::Expr *> arguments) {
    if (callee.isInStdNamespace())
      return;
    for (auto [parameter, argument] : llvm::zip(callee.parameters(), arguments))
      if (!parameter->getType()->isArithmeticType())
        join(parameter->getCanonicalDecl(), rootOf(argument));
  }

  const clang::ASTContext &ast;
  const clang::FunctionDecl *within = nullptr;
  llvm::EquivalenceClasses<const clang::Decl *> same;
  std::vector<std::pair<const clang::Decl *, ElementType>> sorted;
  std::vector<const clang::Decl *> uploaded;
};

} // namespace

std::vector<SortedArray> kbopt::sortedArrays(const ParsedProgram &program) {
  Arrays arrays(program.context());
  for (const clang::Decl *declaration : program.declarations())
    arrays.TraverseDecl(const_cast<clang::Decl *>(declaration));
  return arrays.result();
}
