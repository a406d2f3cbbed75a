//===- ParsedDeviceCode.cpp - Device code of an AST -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/ParsedDeviceCode.h"

#include "DeviceSettling.h"
#include "kb-opt/Support/Error.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Basic/CodeGenOptions.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/FileManager.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "clang/Lex/HeaderSearch.h"
#include "clang/Lex/HeaderSearchOptions.h"
#include "clang/Lex/Preprocessor.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace kbopt;

namespace {

/// Finds the instantiations of function templates, which are no declarations of the translation
/// unit's.
class Instantiations : public clang::DynamicRecursiveASTVisitor {
public:
  explicit Instantiations(clang::CodeGenerator &generator) : generator(generator) {
    ShouldVisitTemplateInstantiations = true;
    ShouldWalkTypesOfTypeLocs = false;
  }
  bool TraverseStmt(clang::Stmt *) override { return true; }
  bool VisitFunctionDecl(clang::FunctionDecl *function) override {
    if (function->isTemplateInstantiation() && !function->isDependentContext() &&
        function->doesThisDeclarationHaveABody())
      generator.HandleTopLevelDecl(clang::DeclGroupRef(function));
    return true;
  }

private:
  clang::CodeGenerator &generator;
};

} // namespace

/// As `-O2 -emit-llvm -g -gcolumn-info -fno-discard-value-names` sets them.
static clang::CodeGenOptions analysisOptions() {
  clang::CodeGenOptions options;
  options.OptimizationLevel = 2;
  options.setDebugInfo(llvm::codegenoptions::FullDebugInfo);
  options.DebugColumnInfo = true;
  options.DwarfVersion = 5;
  options.DiscardValueNames = false;
  return options;
}

llvm::Expected<std::string> kbopt::deviceBitcodeOf(const ParsedProgram &program) {
  clang::ASTContext &ast = program.context();
  clang::IgnoringDiagConsumer ignored;
  clang::DiagnosticOptions diagnosticOptions;
  clang::DiagnosticsEngine diagnostics(clang::DiagnosticIDs::create(), diagnosticOptions, &ignored,
                                       /*ShouldOwnClient=*/false);
  diagnostics.setSourceManager(&ast.getSourceManager());
  const clang::CodeGenOptions options = analysisOptions();
  llvm::LLVMContext context;
  clang::Preprocessor &preprocessor = program.preprocessor();
  std::unique_ptr<clang::CodeGenerator> generator = clang::CreateLLVMCodeGen(
      diagnostics, program.command().file, preprocessor.getFileManager().getVirtualFileSystemPtr(),
      preprocessor.getHeaderSearchInfo().getHeaderSearchOpts(), preprocessor.getPreprocessorOpts(),
      options, context);
  generator->Initialize(ast);
  for (clang::Decl *declaration : ast.getTranslationUnitDecl()->decls())
    generator->HandleTopLevelDecl(clang::DeclGroupRef(declaration));
  // Of all headers: the traversal scope, which a walk over the translation unit keeps to, is the
  // user's declarations.
  Instantiations instantiations(*generator);
  for (clang::Decl *declaration : ast.getTranslationUnitDecl()->decls())
    instantiations.TraverseDecl(declaration);
  generator->HandleTranslationUnit(ast);
  const llvm::Module *module = generator->GetModule();
  if (!module)
    return llvm::make_error<UsageError>("clang makes no device code of '" +
                                            program.command().shownFile + "'",
                                        "", ExitStatus::Diagnostics);
  std::string bitcode;
  llvm::raw_string_ostream os(bitcode);
  llvm::WriteBitcodeToFile(*module, os);
  return settleDeviceBitcode(bitcode, program.command());
}
