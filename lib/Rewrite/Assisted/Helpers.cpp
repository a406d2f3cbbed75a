//===- Helpers.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Helpers.h"
#include "Functions.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

using namespace kbopt;

namespace {

using Functions = std::set<const clang::FunctionDecl *>;

/// One function for all its declarations and instances.
const clang::FunctionDecl *identityOf(const clang::FunctionDecl *function) {
  if (const clang::FunctionDecl *pattern = function->getTemplateInstantiationPattern())
    function = pattern;
  return function->getCanonicalDecl();
}

/// Notes the functions that a body names.
class Names : public clang::DynamicRecursiveASTVisitor {
public:
  Functions found;

  bool VisitDeclRefExpr(clang::DeclRefExpr *reference) override {
    add(reference->getDecl());
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr *member) override {
    add(member->getMemberDecl());
    return true;
  }
  bool VisitOverloadExpr(clang::OverloadExpr *overloads) override {
    for (const clang::NamedDecl *each : overloads->decls())
      add(each->getUnderlyingDecl());
    return true;
  }

private:
  void add(const clang::Decl *declaration) {
    if (const clang::FunctionDecl *function = declaration->getAsFunction())
      found.insert(identityOf(function));
  }
};

using NamesByFunction = std::map<const clang::FunctionDecl *, Functions>;

Functions namesIn(const clang::FunctionDecl *function) {
  Names names;
  names.TraverseStmt(function->getBody());
  return std::move(names.found);
}

NamesByFunction namesOf(llvm::ArrayRef<const clang::FunctionDecl *> functions) {
  NamesByFunction names;
  for (const clang::FunctionDecl *function : functions)
    names[identityOf(function)] = namesIn(function);
  return names;
}

} // namespace

std::vector<const clang::FunctionDecl *> kbopt::helpersOf(const ParsedProgram &program,
                                                          const clang::FunctionDecl *kernel) {
  const std::vector<const clang::FunctionDecl *> functions = functionsOfMainFile(program);
  const NamesByFunction names = namesOf(functions);
  Functions reached{identityOf(kernel)};
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const clang::FunctionDecl *each : Functions(reached))
      if (auto found = names.find(each); found != names.end())
        reached.insert(found->second.begin(), found->second.end());
  }
  auto isOwn = [&](const clang::FunctionDecl *function) {
    return llvm::none_of(names, [&](const auto &entry) {
      return !reached.count(entry.first) && entry.second.count(identityOf(function));
    });
  };
  std::vector<const clang::FunctionDecl *> helpers;
  for (const clang::FunctionDecl *function : functions)
    if (identityOf(function) != identityOf(kernel) && reached.count(identityOf(function)) &&
        isDeviceFunction(function) && !function->hasAttr<clang::CUDAGlobalAttr>() &&
        isOwn(function))
      helpers.push_back(function);
  return helpers;
}

std::vector<const clang::FunctionDecl *> kbopt::unusedFunctions(const ParsedProgram &program) {
  const std::vector<const clang::FunctionDecl *> functions = functionsOfMainFile(program);
  const NamesByFunction names = namesOf(functions);
  Functions unused;
  for (const clang::FunctionDecl *function : functions)
    if (isDeviceFunction(function))
      unused.insert(identityOf(function));
  auto isUsed = [&](const clang::FunctionDecl *function) {
    return llvm::any_of(names, [&](const auto &entry) {
      return !unused.count(entry.first) && entry.second.count(function);
    });
  };
  for (size_t before = unused.size() + 1; before != unused.size();) {
    before = unused.size();
    for (const clang::FunctionDecl *each : Functions(unused))
      if (isUsed(each))
        unused.erase(each);
  }
  std::vector<const clang::FunctionDecl *> found;
  llvm::copy_if(functions, std::back_inserter(found), [&](const clang::FunctionDecl *function) {
    return unused.count(identityOf(function));
  });
  return found;
}
