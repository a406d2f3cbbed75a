//===- LaunchSites.cpp ------------------------------------------------------===//
#include "LaunchSites.h"
#include "HostBodies.h"
#include "kb-opt/Rewrite/AllocationTest.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include <map>
#include <set>

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;
using llvm::StringRef;

namespace {

bool isInMainFile(const ParsedProgram &program, const Decl *declaration) {
  return lineColumn(program, declaration->getLocation()).line != 0;
}

/// Functions of the host by mangled name: those of the main file, and all that launch.
class HostFunctions : public DynamicRecursiveASTVisitor {
public:
  explicit HostFunctions(const ParsedProgram &program) : program(program) {
    ShouldVisitTemplateInstantiations = true;
    ShouldWalkTypesOfTypeLocs = false;
    for (const Decl *declaration : program.declarations())
      TraverseDecl(const_cast<Decl *>(declaration));
  }

  bool TraverseStmt(Stmt *) override { return true; }

  bool VisitFunctionDecl(FunctionDecl *function) override {
    const bool isDevice =
        function->hasAttr<CUDAGlobalAttr>() ||
        (function->hasAttr<CUDADeviceAttr>() && !function->hasAttr<CUDAHostAttr>());
    const auto *method = dyn_cast<CXXMethodDecl>(function);
    if (isDevice || !function->doesThisDeclarationHaveABody() || function->isDependentContext() ||
        function->isImplicit() || (method && method->getParent()->isLambda()))
      return true;
    if (isInMainFile(program, function) || hasLaunch(function->getBody()))
      functions[isa<CXXConstructorDecl, CXXDestructorDecl>(function) ? usrOf(function)
                                                                     : mangledNameOf(function)] =
          function;
    return true;
  }

  const ParsedProgram &program;
  std::map<std::string, const FunctionDecl *> functions;
};

/// The texts of declarations of the main file that are no functions and may matter to the host, and
/// those among them that a candidate may not add.
struct OtherDeclarations {
  explicit OtherDeclarations(const ParsedProgram &program) : program(program) {
    for (const Decl *declaration : program.declarations())
      if (isInMainFile(program, declaration))
        add(declaration);
  }

  void add(const Decl *declaration) {
    if (const auto *space = dyn_cast<NamespaceDecl>(declaration))
      return addAll(space);
    if (const auto *block = dyn_cast<LinkageSpecDecl>(declaration))
      return addAll(block);
    if (isa<FunctionDecl, FunctionTemplateDecl, EmptyDecl>(declaration) ||
        declaration->isImplicit() || declaration->hasAttr<CUDADeviceAttr>() ||
        declaration->hasAttr<CUDAConstantAttr>() || declaration->hasAttr<CUDASharedAttr>())
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    declaration->print(os, program.context().getPrintingPolicy());
    if (const auto *variable = dyn_cast<VarDecl>(declaration);
        variable && !variable->isConstexpr() &&
        !(variable->getType().isConstQualified() && variable->getType()->isArithmeticType()))
      variables.insert(text);
    texts.insert(std::move(text));
  }
  void addAll(const DeclContext *context) {
    for (const Decl *declaration : context->decls())
      add(declaration);
  }

  const ParsedProgram &program;
  std::multiset<std::string> texts;
  std::set<std::string> variables;
};

/// Why the declarations that are no functions do not tell that the hosts are alike; empty if they
/// do.
std::string differenceOfDeclarations(const ParsedProgram &original,
                                     const ParsedProgram &candidate) {
  auto firstLine = [](StringRef text) { return text.take_until([](char c) { return c == '\n'; }); };
  const OtherDeclarations before(original);
  OtherDeclarations after(candidate);
  for (const std::string &text : before.texts) {
    auto found = after.texts.find(text);
    if (found == after.texts.end())
      return ("'" + firstLine(text) + "' of the original is not in the candidate").str();
    after.texts.erase(found);
  }
  for (const std::string &text : after.texts)
    if (after.variables.count(text))
      return ("the candidate adds the variable '" + firstLine(text) + "'").str();
  return "";
}

bool definesAllocationTest(const HostFunctions &host) {
  return llvm::any_of(host.functions, [](const auto &each) {
    const IdentifierInfo *name = each.second->getIdentifier();
    return name && name->getName().starts_with(allocationTest);
  });
}

} // namespace

LaunchSites hostmap::findLaunchSites(const ParsedProgram &original, const ParsedProgram &candidate,
                                     ExprFacts &facts) {
  LaunchSites result;
  for (const LaunchFact &launch : findLaunches(original))
    if (launch.byApi) {
      result.obstacle = "line " +
                        std::to_string(lineColumn(original, launch.call->getBeginLoc()).line) +
                        " launches by cudaLaunchKernel";
      return result;
    }
  result.obstacle = differenceOfDeclarations(original, candidate);
  if (!result.obstacle.empty())
    return result;
  const HostFunctions before(original), after(candidate);
  result.hasAllocationTest = !definesAllocationTest(before) && definesAllocationTest(after);
  for (const auto &[name, function] : before.functions) {
    auto found = after.functions.find(name);
    if (found == after.functions.end()) {
      if (!isInMainFile(original, function) && !hasLaunch(function->getBody()))
        continue;
      result.obstacle =
          "'" + function->getNameAsString() + "' of the original is not in the candidate";
      return result;
    }
    HostBodies bodies(original, candidate, function, found->second, facts);
    if (!bodies.matchBodies()) {
      result.obstacle = "'" + function->getNameAsString() + "' differs in more than launches" +
                        bodies.whereText();
      return result;
    }
    llvm::append_range(result.sites, bodies.sites);
  }
  return result;
}
