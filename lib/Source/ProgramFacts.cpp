//===- ProgramFacts.cpp - Kernels and launches in an AST ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/ProgramFacts.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Mangle.h"
#include "clang/Index/USRGeneration.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"

using namespace kbopt;
using llvm::StringRef;

/// What the user wrote: the pattern of an instantiation, and of its definition.
static const clang::FunctionDecl *patternOf(const clang::FunctionDecl *function) {
  if (const clang::FunctionDecl *pattern = function->getTemplateInstantiationPattern())
    function = pattern;
  if (const clang::FunctionDecl *definition = function->getDefinition())
    function = definition;
  return function;
}

std::string kbopt::usrOf(const clang::Decl *declaration) {
  llvm::SmallString<128> usr;
  if (!declaration || clang::index::generateUSRForDecl(declaration, usr))
    return "";
  return usr.str().str();
}

std::string kbopt::mangledNameOf(const clang::FunctionDecl *function) {
  if (function->isDependentContext())
    return "";
  std::unique_ptr<clang::MangleContext> mangler(function->getASTContext().createMangleContext());
  if (!mangler->shouldMangleDeclName(function))
    return function->getNameAsString();
  std::string name;
  llvm::raw_string_ostream os(name);
  // The device's symbol: on the host a kernel's stub has another name.
  mangler->mangleName(function->hasAttr<clang::CUDAGlobalAttr>()
                          ? clang::GlobalDecl(function, clang::KernelReferenceKind::Kernel)
                          : clang::GlobalDecl(function),
                      os);
  return name;
}

LineColumn kbopt::lineColumn(const ParsedProgram &program, clang::SourceLocation location) {
  const clang::SourceManager &sources = program.sources();
  location = sources.getFileLoc(location);
  if (location.isInvalid() || sources.getFileID(location) != sources.getMainFileID())
    return {};
  auto [file, offset] = sources.getDecomposedLoc(location);
  return {sources.getLineNumber(file, offset), sources.getColumnNumber(file, offset)};
}

StringRef kbopt::sourceText(const ParsedProgram &program, clang::SourceRange range) {
  const clang::SourceManager &sources = program.sources();
  clang::CharSourceRange chars = clang::Lexer::makeFileCharRange(
      clang::CharSourceRange::getTokenRange(range), sources, program.language());
  if (chars.isInvalid() || sources.getFileID(chars.getBegin()) != sources.getMainFileID())
    return "";
  return clang::Lexer::getSourceText(chars, sources, program.language());
}

static unsigned mainFileOffset(const clang::SourceManager &sources, clang::SourceLocation place) {
  place = sources.getFileLoc(place);
  return sources.getDecomposedLoc(place).second;
}

namespace {

class KernelFinder : public clang::DynamicRecursiveASTVisitor {
public:
  KernelFinder(const ParsedProgram &program) : program(program) {
    ShouldVisitTemplateInstantiations = true;
    ShouldWalkTypesOfTypeLocs = false;
  }
  bool TraverseStmt(clang::Stmt *) override { return true; }

  bool VisitFunctionDecl(clang::FunctionDecl *function) override {
    if (!function->hasAttr<clang::CUDAGlobalAttr>())
      return true;
    const clang::FunctionDecl *pattern = patternOf(function);
    if (!pattern->doesThisDeclarationHaveABody())
      return true;
    auto [it, isNew] = kernels.insert({pattern, KernelFact()});
    KernelFact &kernel = it->second;
    if (isNew) {
      kernel.function = pattern;
      kernel.name = pattern->getQualifiedNameAsString();
      kernel.usr = usrOf(pattern);
      kernel.isTemplate = pattern->isDependentContext();
      kernel.inMainFile = lineColumn(program, pattern->getLocation()).line != 0;
    }
    const clang::FunctionDecl *body = function->getDefinition();
    if (!body || body->isDependentContext())
      return true;
    if (llvm::none_of(kernel.instances, [&](const KernelFact::Instance &instance) {
          return instance.function == body;
        }))
      kernel.instances.push_back({body, mangledNameOf(body)});
    return true;
  }

  const ParsedProgram &program;
  llvm::MapVector<const clang::FunctionDecl *, KernelFact> kernels;
};

/// Looks through casts, parentheses and `&` for the kernel an expression names.
const clang::FunctionDecl *namedKernel(const clang::Expr *expression) {
  for (;;) {
    expression = expression->IgnoreParenCasts();
    if (const auto *address = llvm::dyn_cast<clang::UnaryOperator>(expression);
        address && address->getOpcode() == clang::UO_AddrOf)
      expression = address->getSubExpr();
    else
      break;
  }
  const clang::NamedDecl *named = nullptr;
  if (const auto *reference = llvm::dyn_cast<clang::DeclRefExpr>(expression))
    named = reference->getDecl();
  else if (const auto *overloads = llvm::dyn_cast<clang::OverloadExpr>(expression);
           overloads && overloads->getNumDecls() == 1)
    named = *overloads->decls_begin();
  if (const auto *shadow = llvm::dyn_cast_or_null<clang::UsingShadowDecl>(named))
    named = shadow->getTargetDecl();
  if (const auto *pattern = llvm::dyn_cast_or_null<clang::FunctionTemplateDecl>(named))
    named = pattern->getTemplatedDecl();
  const auto *function = llvm::dyn_cast_or_null<clang::FunctionDecl>(named);
  return function && function->hasAttr<clang::CUDAGlobalAttr>() ? function : nullptr;
}

class LaunchFinder : public clang::DynamicRecursiveASTVisitor {
public:
  LaunchFinder(const ParsedProgram &program) : program(program) {
    ShouldVisitTemplateInstantiations = true;
    ShouldWalkTypesOfTypeLocs = false;
  }

  bool TraverseDecl(clang::Decl *declaration) override {
    auto *function = llvm::dyn_cast_or_null<clang::FunctionDecl>(declaration);
    const clang::FunctionDecl *outer = host;
    // A lambda's call operator belongs to the function it stands in.
    if (function && !(host && isLambdaCall(function)))
      host = function;
    bool result = clang::DynamicRecursiveASTVisitor::TraverseDecl(declaration);
    host = outer;
    return result;
  }

  bool VisitCUDAKernelCallExpr(clang::CUDAKernelCallExpr *call) override {
    const clang::CallExpr *configuration = call->getConfig();
    LaunchFact launch;
    launch.call = call;
    auto argument = [&](unsigned index) -> const clang::Expr * {
      if (!configuration || index >= configuration->getNumArgs())
        return nullptr;
      const clang::Expr *expression = configuration->getArg(index);
      return llvm::isa<clang::CXXDefaultArgExpr>(expression) ? nullptr : expression;
    };
    launch.grid = argument(0);
    launch.block = argument(1);
    launch.shared = argument(2);
    launch.stream = argument(3);
    for (const clang::Expr *expression : call->arguments())
      launch.arguments.push_back(expression);
    add(std::move(launch), namedKernel(call->getCallee()));
    return true;
  }

  bool VisitCallExpr(clang::CallExpr *call) override {
    const clang::FunctionDecl *callee = call->getDirectCallee();
    if (!callee || !callee->getDeclName().isIdentifier() ||
        callee->getName() != "cudaLaunchKernel" || call->getNumArgs() < 5)
      return true;
    // (func, gridDim, blockDim, args, sharedMem, stream)
    LaunchFact launch;
    launch.call = call;
    launch.byApi = true;
    auto argument = [&](unsigned index) -> const clang::Expr * {
      if (index >= call->getNumArgs() || llvm::isa<clang::CXXDefaultArgExpr>(call->getArg(index)))
        return nullptr;
      return call->getArg(index);
    };
    launch.grid = argument(1);
    launch.block = argument(2);
    launch.shared = argument(4);
    launch.stream = argument(5);
    add(std::move(launch), namedKernel(call->getArg(0)));
    return true;
  }

  std::vector<LaunchFact> take() {
    std::vector<LaunchFact> result;
    for (auto &[place, launch] : launches)
      result.push_back(std::move(launch));
    llvm::sort(result,
               [&](const LaunchFact &a, const LaunchFact &b) { return offsetOf(a) < offsetOf(b); });
    return result;
  }

private:
  static bool isLambdaCall(const clang::FunctionDecl *function) {
    const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
    return method && method->getParent()->isLambda();
  }
  unsigned offsetOf(const LaunchFact &launch) const {
    return mainFileOffset(program.sources(), launch.call->getBeginLoc());
  }

  /// Where \p place is written, if it is a part of a macro's argument: a macro may use that more
  /// than once, as those of PyTorch do that choose a type.
  clang::SourceLocation placeOf(clang::SourceLocation place) const {
    clang::SourceLocation written = place;
    while (written.isMacroID()) {
      if (!program.sources().isMacroArgExpansion(written))
        return place;
      written = program.sources().getImmediateSpellingLoc(written);
    }
    return written;
  }

  /// One fact per place: the instantiations of the host function add their
  /// instance of the kernel, and a concrete call is kept over a dependent one.
  void add(LaunchFact launch, const clang::FunctionDecl *kernel) {
    // An instantiation is found below its template and, maybe, as a declaration of its own.
    if (!host || !seen.insert(launch.call).second)
      return;
    launch.host = patternOf(host);
    if (kernel) {
      launch.kernel = patternOf(kernel);
      launch.kernelUsr = usrOf(launch.kernel);
    }
    std::string name = kernel ? mangledNameOf(kernel) : "";
    auto [it, isNew] = launches.insert({placeOf(launch.call->getBeginLoc()), launch});
    LaunchFact &fact = it->second;
    bool concrete = !launch.call->isTypeDependent() && !launch.call->isValueDependent() &&
                    !host->isDependentContext();
    if (!isNew && concrete && fact.mangledNames.empty()) {
      launch.instances = fact.instances;
      fact = std::move(launch);
    }
    fact.instances += concrete;
    if (!name.empty() && concrete && !llvm::is_contained(fact.mangledNames, name))
      fact.mangledNames.push_back(name);
  }

  const ParsedProgram &program;
  const clang::FunctionDecl *host = nullptr;
  llvm::MapVector<clang::SourceLocation, LaunchFact> launches;
  llvm::DenseSet<const clang::CallExpr *> seen;
};

} // namespace

/// The walk behind `findKernels`.
static std::vector<KernelFact> collectKernels(const ParsedProgram &program) {
  KernelFinder finder(program);
  for (const clang::Decl *declaration : program.declarations())
    finder.TraverseDecl(const_cast<clang::Decl *>(declaration));
  std::vector<KernelFact> kernels;
  for (auto &[pattern, kernel] : finder.kernels) {
    llvm::sort(kernel.instances,
               [](const auto &a, const auto &b) { return a.mangledName < b.mangledName; });
    kernels.push_back(std::move(kernel));
  }
  const clang::SourceManager &sources = program.sources();
  llvm::sort(kernels, [&](const KernelFact &a, const KernelFact &b) {
    return sources.isBeforeInTranslationUnit(a.function->getBeginLoc(), b.function->getBeginLoc());
  });
  return kernels;
}

namespace {
struct KernelTable {
  std::vector<KernelFact> kernels;
};
} // namespace

bool kbopt::isNamed(StringRef qualified, StringRef name) {
  return qualified == name || qualified.ends_with(("::" + name).str());
}

const std::vector<KernelFact> &kbopt::findKernels(const ParsedProgram &program) {
  return program.derived<KernelTable>([&] { return KernelTable{collectKernels(program)}; }).kernels;
}

namespace {
/// The launches of a program, and where those of each kernel are among them.
struct LaunchTable {
  explicit LaunchTable(const ParsedProgram &program) {
    LaunchFinder finder(program);
    for (const clang::Decl *declaration : program.declarations())
      finder.TraverseDecl(const_cast<clang::Decl *>(declaration));
    launches = finder.take();
    for (auto [position, launch] : llvm::enumerate(launches))
      byKernel[launch.kernelUsr].push_back(position);
  }
  std::vector<LaunchFact> launches;
  llvm::StringMap<std::vector<size_t>> byKernel;
};
} // namespace

static const LaunchTable &launchTable(const ParsedProgram &program) {
  return program.derived<LaunchTable>([&] { return LaunchTable(program); });
}

const std::vector<LaunchFact> &kbopt::findLaunches(const ParsedProgram &program) {
  return launchTable(program).launches;
}

std::vector<LaunchFact> kbopt::findLaunches(const ParsedProgram &program, StringRef usr) {
  const LaunchTable &table = launchTable(program);
  std::vector<LaunchFact> launches;
  if (auto found = table.byKernel.find(usr); found != table.byKernel.end())
    for (size_t position : found->second)
      launches.push_back(table.launches[position]);
  return launches;
}

bool kbopt::hasMain(const ParsedProgram &program) {
  return llvm::any_of(program.declarations(), [&](const clang::Decl *declaration) {
    const auto *function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    return function && function->isMain() && function->doesThisDeclarationHaveABody() &&
           lineColumn(program, function->getLocation()).line != 0;
  });
}

namespace {
class UsrFinder : public clang::DynamicRecursiveASTVisitor {
public:
  UsrFinder(StringRef usr) : usr(usr) { ShouldWalkTypesOfTypeLocs = false; }
  bool VisitNamedDecl(clang::NamedDecl *declaration) override {
    // A template and its pattern share a name, and passes want the function.
    if (llvm::isa<clang::TemplateDecl>(declaration) || usrOf(declaration) != usr)
      return true;
    found = declaration;
    const auto *function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    return function && !function->doesThisDeclarationHaveABody();
  }
  StringRef usr;
  const clang::NamedDecl *found = nullptr;
};
} // namespace

const clang::NamedDecl *kbopt::findByUsr(const ParsedProgram &program, StringRef usr) {
  if (usr.empty())
    return nullptr;
  UsrFinder finder(usr);
  for (const clang::Decl *declaration : program.declarations())
    if (!finder.TraverseDecl(const_cast<clang::Decl *>(declaration)))
      break;
  return finder.found;
}
