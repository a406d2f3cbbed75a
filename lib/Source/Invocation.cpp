//===- Invocation.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Invocation.h"
#include "CompatHeader.h"
#include "DiagnosticCollector.h"
#include "kb-opt/Support/Error.h"
#include "clang/Driver/CreateInvocationFromArgs.h"
#include "clang/Frontend/CompilerInstance.h"

using namespace kbopt;

llvm::Error kbopt::compileError(const CompileCommand &command,
                                llvm::ArrayRef<SourceDiagnostic> diagnostics) {
  std::string words = renderDiagnostics(diagnostics);
  std::string note = adviceForClang(diagnostics);
  if (note.empty() && command.original.empty())
    note = "give the compiler's flags after --, or the folder of compile_commands.json with -p";
  return llvm::make_error<UsageError>("'" + command.shownFile + "' does not compile\n" + words,
                                      note, ExitStatus::Diagnostics);
}

llvm::Expected<std::unique_ptr<clang::CompilerInvocation>>
kbopt::askDriver(const CompileCommand &command, std::vector<std::string> arguments) {
  llvm::Expected<std::string> clang = findClang();
  if (!clang)
    return clang.takeError();
  std::vector<std::string> all{*clang, "--driver-mode=g++", "-fsyntax-only"};
  llvm::append_range(all, compatArguments());
  llvm::append_range(all, macroArguments());
  llvm::append_range(all, arguments);
  all.push_back(command.file);
  std::vector<const char *> pointers;
  for (const std::string &argument : all)
    pointers.push_back(argument.c_str());

  DiagnosticCollector collector(command.file, command.shownFile);
  clang::DiagnosticOptions diagnosticOptions;
  clang::CreateInvocationOptions options;
  options.VFS = filesWithCompatHeaders(command);
  options.Diags = clang::CompilerInstance::createDiagnostics(*options.VFS, diagnosticOptions,
                                                             &collector, /*ShouldOwnClient=*/false);
  std::unique_ptr<clang::CompilerInvocation> invocation =
      clang::createInvocation(pointers, options);
  if (!invocation || collector.hasErrors())
    return compileError(command, collector.diagnostics());
  invocation->getFrontendOpts().DisableFree = false;
  invocation->getCodeGenOpts().DisableFree = false;
  return invocation;
}
