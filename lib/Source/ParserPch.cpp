//===- ParserPch.cpp - CUDA's headers parsed once -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ParserPch.h"

#include "CompatHeader.h"
#include "HeaderCache.h"
#include "UserMacros.h"
#include "kb-opt/Support/Digest.h"
#include "kb-opt/Support/FileSystem.h"
#include "clang/Basic/TargetInfo.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "clang/Serialization/PCHContainerOperations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using llvm::StringRef;

/// Raised when what an entry holds changes.
static constexpr uint64_t formatVersion = 1;

/// Everything that the file depends on, but for the toolkit's headers, whose version is, and
/// clang's own in \p resourceFolder.
static Digest entryName(const CompileCommand &command, StringRef resourceFolder,
                        llvm::ArrayRef<std::string> includes) {
  DigestBuilder builder;
  builder.add(formatVersion)
      .add(clang::getClangFullVersion())
      .add(resourceFolder)
      .add(command.toolkit.root)
      .add(command.toolkit.version);
  // Where relative folders of the user's begin.
  if (!withoutUserMacros(command.clangFlags).empty())
    builder.add(command.directory);
  for (const CompatHeader &header : compatHeaders())
    builder.add(header.name).add(header.text);
  for (const std::string &argument : command.deviceArguments())
    builder.add(argument);
  if (!includes.empty())
    builder.add(userMacrosText(command));
  for (const std::string &name : includes)
    builder.add(name);
  return builder.finish();
}

/// Writes what \p base includes before the empty program \p input, and \p includes, to \p output;
/// without those, it ends before the user's macros.
static bool write(const CompileCommand &command, const clang::CompilerInvocation &base,
                  llvm::ArrayRef<std::string> includes, StringRef input, StringRef output) {
  auto invocation = std::make_shared<clang::CompilerInvocation>(base);
  std::vector<std::string> &before = invocation->getPreprocessorOpts().Includes;
  if (includes.empty())
    llvm::erase(before, macroArguments().back());
  llvm::append_range(before, includes);
  clang::FrontendOptions &options = invocation->getFrontendOpts();
  options.Inputs = {clang::FrontendInputFile(input, clang::Language::CUDA)};
  options.ProgramAction = clang::frontend::GeneratePCH;
  options.OutputFile = output.str();
  clang::CompilerInstance compiler(invocation, std::make_shared<clang::PCHContainerOperations>());
  compiler.setVirtualFileSystem(filesWithCompatHeaders(command));
  compiler.createDiagnostics(new clang::IgnoringDiagConsumer());
  clang::GeneratePCHAction action;
  return compiler.ExecuteAction(action) && !compiler.getDiagnostics().hasErrorOccurred();
}

std::string kbopt::findParserPch(const CompileCommand &command,
                                 const clang::CompilerInvocation &invocation,
                                 llvm::ArrayRef<std::string> includes) {
  if (llvm::any_of(command.clangFlags, [](StringRef flag) {
        return flag.starts_with("-include") || flag.starts_with("-imacros");
      }))
    return "";
  const std::string folder = userCacheDirectory(), input = emptyProgram(folder);
  const std::string entry =
      childOf(childOf(folder, "parsed-headers"),
              entryName(command, invocation.getHeaderSearchOpts().ResourceDir, includes));
  const bool made = makeCacheEntry(entry, [&](StringRef draft) {
    return write(command, invocation, includes, input, childOf(draft, "headers.pch"));
  });
  return made ? childOf(entry, "headers.pch") : "";
}

void kbopt::forgetParserPch(StringRef file) {
  llvm::sys::fs::remove_directories(llvm::sys::path::parent_path(file));
}
