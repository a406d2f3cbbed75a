//===- Functions.cpp - The functions of the main file ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Functions.h"
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
