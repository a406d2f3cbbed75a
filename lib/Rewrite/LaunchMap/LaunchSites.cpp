//===- LaunchSites.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LaunchSites.h"
#include "../Schedule/LaunchText.h"
#include "HostBodies.h"
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Rewrite/AllocationTest.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/LaunchMemory.h"
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

/// Whether \p declaration is a variable that the user has put on the device. Clang itself puts
/// constants there as well.
bool isOnlyOnDevice(const Decl *declaration) {
  return llvm::any_of(declaration->attrs(), [](const Attr *each) {
    return isa<CUDADeviceAttr, CUDAConstantAttr, CUDASharedAttr, HIPManagedAttr>(each) &&
           !each->isImplicit();
  });
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

/// The texts of declarations of the main file that are no functions and may matter to the host.
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
        declaration->isImplicit() || isOnlyOnDevice(declaration))
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    declaration->print(os, program.context().getPrintingPolicy());
    const auto *variable = dyn_cast<VarDecl>(declaration);
    if (variable && !variable->getType()->isDependentType() && variable->hasInit() &&
        variable->isUsableInConstantExpressions(program.context()))
      constants.emplace(variable->getNameAsString(), std::move(text));
    else
      (variable ? variables : types).insert(std::move(text));
  }
  void addAll(const DeclContext *context) {
    for (const Decl *declaration : context->decls())
      add(declaration);
  }

  const ParsedProgram &program;
  std::multimap<std::string, std::string> constants; ///< by name
  std::multiset<std::string> variables, types;
};

/// Constants that the candidate does not have as the original has them, and those that are computed
/// from them.
std::set<std::string> changedConstants(const OtherDeclarations &before,
                                       const OtherDeclarations &after) {
  std::set<std::string> names;
  for (size_t count = ~size_t(0); names.size() != count;) {
    count = names.size();
    for (const auto &[name, text] : before.constants)
      if (namesAny(text, names) ||
          llvm::none_of(after.constants, [&](const auto &other) { return other.second == text; }))
        names.insert(name);
  }
  return names;
}

/// Why the declarations that are no functions do not tell that the hosts are alike; empty if they
/// do.
std::string differenceOfDeclarations(const OtherDeclarations &before,
                                     const OtherDeclarations &after,
                                     const std::set<std::string> &changed) {
  auto firstLine = [](StringRef text) { return text.take_until([](char c) { return c == '\n'; }); };
  for (auto [all, others] :
       {std::pair(&before.variables, &after.variables), std::pair(&before.types, &after.types)})
    for (const std::string &text : *all) {
      if (!others->count(text))
        return ("'" + firstLine(text) + "' of the original is not in the candidate").str();
      if (namesAny(text, changed))
        return ("'" + firstLine(text) + "' has another size in the candidate").str();
    }
  for (const std::string &text : after.variables)
    if (!before.variables.count(text))
      return ("the candidate adds the variable '" + firstLine(text) + "'").str();
  return "";
}

/// Whether calling \p callee, of no visible body, does nothing but compute: an accessor of the
/// standard library, a function of CUDA's on numbers, one of mathematics.
bool onlyComputes(const FunctionDecl *callee, const SourceManager &sources) {
  const IdentifierInfo *identifier = callee ? callee->getIdentifier() : nullptr;
  if (!identifier)
    return false;
  if (callee->getBuiltinID() && callee->getReturnType()->isRealFloatingType())
    return true;
  const StringRef name = identifier->getName();
  return sources.isInSystemHeader(callee->getLocation()) &&
         (name.starts_with("__") || name.starts_with("make_") ||
          llvm::is_contained({"data", "get", "begin", "raw_pointer_cast"}, name));
}

/// Whether evaluating \p expr twice, or not at all, may be seen.
bool hasEffects(const Expr *expr, const SourceManager &sources) {
  if (isRepeatable(expr))
    return false;
  for (const Stmt *each : ast::findAll<Stmt>(expr)) {
    const auto *unary = dyn_cast<UnaryOperator>(each);
    const auto *binary = dyn_cast<BinaryOperator>(each);
    const auto *call = dyn_cast<CallExpr>(each);
    if ((unary && unary->isIncrementDecrementOp()) || (binary && binary->isAssignmentOp()) ||
        isa<LambdaExpr, CXXNewExpr, StmtExpr>(each))
      return true;
    if (!call || isRepeatable(call))
      continue;
    const auto *operation = dyn_cast<CXXOperatorCallExpr>(call);
    if (!(operation && !operation->isAssignmentOp()) &&
        !onlyComputes(call->getDirectCallee(), sources))
      return true;
  }
  return false;
}

/// Why \p part, which the candidate changes, does not tell what the host does; empty if it does.
std::string obstacleOf(const ParsedProgram &original, const LaunchSite::Part &part) {
  for (const CUDAKernelCallExpr *launch : part.launches) {
    const std::string place =
        "line " + std::to_string(lineColumn(original, launch->getBeginLoc()).line);
    std::vector<const Expr *> all(launch->arg_begin(), launch->arg_end());
    if (launch->getConfig())
      llvm::append_range(all, launch->getConfig()->arguments());
    if (llvm::any_of(all, [&](const Expr *each) { return hasEffects(each, original.sources()); }))
      return place + " launches with arguments that have side effects";
    const FunctionDecl *kernel = launch->getDirectCallee();
    if (!kernel || isNamedOutsideLaunches(original, kernel))
      return place + " launches a kernel that may be launched out of sight";
  }
  return "";
}

bool defines(const HostFunctions &host, llvm::StringRef function) {
  return llvm::any_of(host.functions, [&](const auto &each) {
    const IdentifierInfo *name = each.second->getIdentifier();
    return name && name->getName().starts_with(function);
  });
}

} // namespace

LaunchSites hostmap::findLaunchSites(const ParsedProgram &original, const ParsedProgram &candidate,
                                     ExprFacts &facts) {
  LaunchSites result;
  for (const LaunchFact &launch : findLaunches(original))
    if (launch.byApi || !launch.kernel) {
      result.obstacle =
          "line " + std::to_string(lineColumn(original, launch.call->getBeginLoc()).line) +
          (launch.byApi ? " launches by cudaLaunchKernel" : " launches a kernel that is not named");
      return result;
    }
  const OtherDeclarations declarations(original), others(candidate);
  const std::set<std::string> changed = changedConstants(declarations, others);
  result.obstacle = differenceOfDeclarations(declarations, others, changed);
  if (!result.obstacle.empty())
    return result;
  const HostFunctions before(original), after(candidate);
  auto isAdded = [&](llvm::StringRef name) {
    return !defines(before, name) && defines(after, name);
  };
  result.added = {isAdded(allocationTest), isAdded(launchMemoryFunction)};
  for (const auto &[name, function] : before.functions) {
    auto found = after.functions.find(name);
    if (found == after.functions.end()) {
      if (!isInMainFile(original, function) && !hasLaunch(function->getBody()))
        continue;
      result.obstacle =
          "'" + function->getNameAsString() + "' of the original is not in the candidate";
      return result;
    }
    HostBodies bodies(original, candidate, function, found->second, facts, changed);
    if (!bodies.matchBodies()) {
      result.obstacle = "'" + function->getNameAsString() + "' differs in more than launches" +
                        bodies.whereText();
      return result;
    }
    llvm::append_range(result.sites, bodies.sites);
  }
  for (const LaunchSite &site : result.sites)
    for (const LaunchSite::Part &part : site.parts)
      if (part.isChanged && result.obstacle.empty())
        result.obstacle = obstacleOf(original, part);
  return result;
}
