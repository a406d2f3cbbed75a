//===- Functions.cpp - The functions of the main file ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Functions.h"
#include "kb-opt/Rewrite/Assisted/Grounding.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"

using namespace kbopt;

static void collect(const clang::Decl *declaration, const clang::SourceManager &sources,
                    std::vector<const clang::FunctionDecl *> &into) {
  if (const auto *pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(declaration))
    return collect(pattern->getTemplatedDecl(), sources, into);
  if (const auto *pattern = llvm::dyn_cast<clang::ClassTemplateDecl>(declaration))
    return collect(pattern->getTemplatedDecl(), sources, into);
  if (const auto *function = llvm::dyn_cast<clang::FunctionDecl>(declaration)) {
    // The parser hands over what it instantiates as well: the same text again, with other types.
    if (function->doesThisDeclarationHaveABody() && !function->isImplicit() &&
        !function->isTemplateInstantiation() &&
        sources.isInMainFile(sources.getExpansionLoc(function->getBeginLoc())))
      into.push_back(function);
    return;
  }
  if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl, clang::CXXRecordDecl>(declaration))
    for (const clang::Decl *inner : llvm::cast<clang::DeclContext>(declaration)->decls())
      collect(inner, sources, into);
}

std::vector<const clang::FunctionDecl *> kbopt::functionsOfMainFile(const ParsedProgram &program) {
  std::vector<const clang::FunctionDecl *> functions;
  for (const clang::Decl *declaration : program.declarations())
    collect(declaration, program.sources(), functions);
  return functions;
}

AnchorOrReason kbopt::anchorOfFunction(const ParsedProgram &program,
                                       const clang::FunctionDecl *function) {
  const clang::FunctionTemplateDecl *pattern = function->getDescribedFunctionTemplate();
  return pattern ? anchorOf(program, pattern) : anchorOf(program, function);
}

bool kbopt::isDeviceFunction(const clang::FunctionDecl *function) {
  return function->hasAttr<clang::CUDAGlobalAttr>() || function->hasAttr<clang::CUDADeviceAttr>();
}

std::optional<unsigned> kbopt::mainFileOffset(const ParsedProgram &program,
                                              clang::SourceLocation location) {
  const clang::SourceManager &sources = program.sources();
  if (location.isInvalid())
    return std::nullopt;
  location = sources.getExpansionLoc(location);
  if (sources.getFileID(location) != sources.getMainFileID())
    return std::nullopt;
  return sources.getFileOffset(location);
}

/// Whether device code may use \p declaration: a type, a constant, a function of its own; not a
/// function that runs on the host alone, nor what declares nothing.
static bool isForDevice(const clang::Decl *declaration) {
  if (const auto *function = declaration->getAsFunction())
    return isDeviceFunction(function) || function->isConstexpr();
  if (const auto *scope = llvm::dyn_cast<clang::NamespaceDecl>(declaration))
    return llvm::any_of(scope->decls(), isForDevice);
  if (const auto *scope = llvm::dyn_cast<clang::LinkageSpecDecl>(declaration))
    return llvm::any_of(scope->decls(), isForDevice);
  return !llvm::isa<clang::UsingDirectiveDecl, clang::UsingDecl, clang::EmptyDecl>(declaration);
}

LineSpan kbopt::deviceLines(const ParsedProgram &program) {
  const clang::SourceManager &sources = program.sources();
  llvm::StringRef text = program.text();
  LineSpan span{0, static_cast<unsigned>(1 + text.rtrim('\n').count('\n'))};
  for (const clang::Decl *declaration : program.declarations()) {
    const clang::SourceLocation begin = sources.getExpansionLoc(declaration->getBeginLoc());
    if (declaration->isImplicit() || begin.isInvalid() || !sources.isInMainFile(begin))
      continue;
    const unsigned line = sources.getExpansionLineNumber(begin);
    const clang::FunctionDecl *function = declaration->getAsFunction();
    if (function && function->isMain() && function->doesThisDeclarationHaveABody())
      span.last = line - 1;
    else if (isForDevice(declaration) && (!span.first || line < span.first))
      span.first = line;
  }
  // Macros may be used in it, and what is said right above it belongs to it.
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (unsigned line = 1; line < span.first; ++line)
    if (lines[line - 1].ltrim().starts_with("#define"))
      span.first = line;
  while (span.first > 1 && lines[span.first - 2].starts_with("//"))
    --span.first;
  return span;
}
