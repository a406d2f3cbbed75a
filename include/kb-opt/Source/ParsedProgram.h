//===- ParsedProgram.h - A CUDA translation unit as an AST -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns parsing: source text to a clang AST in device mode, with the CUDA
// headers and the file's own leading includes kept precompiled (the preamble)
// so that parsing an edited text costs milliseconds.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_PARSEDPROGRAM_H
#define KBOPT_SOURCE_PARSEDPROGRAM_H

#include "kb-opt/Source/CompileCommand.h"
#include "kb-opt/Source/Diagnostic.h"
#include "kb-opt/Source/Suppressions.h"
#include "clang/AST/ASTContext.h"
#include <map>
#include <memory>
#include <mutex>

namespace clang {
class CompilerInstance;
class Preprocessor;
class ASTFrontendAction;
} // namespace clang

namespace kbopt {

/// An AST with the text it came from. Immutable after parsing; an AST is not
/// thread-safe, even for reading.
class ParsedProgram {
public:
  ~ParsedProgram();

  /// The program that another tool of clang's has parsed in device mode: a plugin, a check of
  /// clang-tidy. \p ast and
  /// \p preprocessor outlive the result, and until then its traversal scope is the user's
  /// declarations. Of the command only file, names, directory and architecture are known.
  static std::unique_ptr<ParsedProgram> adopt(clang::ASTContext &ast,
                                              clang::Preprocessor &preprocessor);

  const CompileCommand &command() const { return compileCommand; }
  llvm::StringRef text() const { return sourceText; }
  /// Name of the main file as the user wrote it.
  llvm::StringRef shownFile() const { return compileCommand.shownFile; }

  clang::ASTContext &context() const;
  const clang::SourceManager &sources() const;
  const clang::LangOptions &language() const;
  clang::Preprocessor &preprocessor() const;

  /// Whether \p a stands before \p b in the translation unit, wherever either
  /// was parsed: clang's own order does not know that the toolkit's headers,
  /// which come from a file of their own, stand before the user's.
  bool isBefore(clang::SourceLocation a, clang::SourceLocation b) const;

  /// The top-level declarations of the main file and of the user's headers, in
  /// source order, without those of system headers. Walk these: walking the
  /// whole translation unit reads every CUDA header back in.
  llvm::ArrayRef<const clang::Decl *> declarations() const { return topLevel; }

  /// Warnings and notes; a program with errors is never returned.
  llvm::ArrayRef<SourceDiagnostic> diagnostics() const { return messages; }
  const Suppressions &suppressions() const { return comments; }

  /// What \p make derives from the program. It is made when \p Fact is first asked for and lives as
  /// long as the program; every caller that names the type shares it.
  template <typename Fact> Fact &derived(llvm::function_ref<Fact()> make) const {
    std::shared_ptr<void> &fact = facts[&factKey<Fact>];
    if (!fact)
      fact = std::make_shared<Fact>(make());
    return *static_cast<Fact *>(fact.get());
  }

  /// How long the parse took, and whether a preamble was at hand.
  double parseMs = 0;
  bool usedPreamble = false;

private:
  friend class ProgramParser;
  ParsedProgram() = default;
  CompileCommand compileCommand;
  std::string sourceText;
  std::vector<const clang::Decl *> topLevel;
  std::vector<SourceDiagnostic> messages;
  Suppressions comments;
  std::unique_ptr<clang::CompilerInstance> compiler; ///< null for an adopted program
  std::unique_ptr<clang::ASTFrontendAction> action;
  clang::ASTContext *ast = nullptr;
  clang::Preprocessor *lexing = nullptr;
  std::shared_ptr<const void> preamble; ///< the AST reads from it lazily
  /// Its address stands for the type.
  template <typename Fact> static inline char factKey = 0;
  mutable std::map<const void *, std::shared_ptr<void>> facts;
};

/// Parses texts and keeps preambles. Thread-safe.
class ProgramParser {
public:
  ProgramParser();
  ~ProgramParser();

  /// Parses \p text in place of the content of \p command.file; included files
  /// come from disk. The first parse under a command builds the preamble;
  /// later ones reuse it as long as the leading directives of the text and the
  /// files they include are unchanged. Fails with a `UsageError` (exit
  /// status: diagnostics) that carries the compiler's errors with line and
  /// caret.
  llvm::Expected<std::unique_ptr<ParsedProgram>> parse(const CompileCommand &command,
                                                       llvm::StringRef text);

  /// Reads command.file and parses it. A file that is missing, unreadable or
  /// binary is a `UsageError`.
  llvm::Expected<std::unique_ptr<ParsedProgram>> parseFile(const CompileCommand &command);

  struct Stats {
    unsigned parses = 0, preamblesBuilt = 0, preamblesReused = 0;
    double preambleMs = 0; ///< spent building preambles
  };
  Stats stats() const;

private:
  struct Cache;
  std::unique_ptr<Cache> cache;
};

/// The content of \p command.file; a `UsageError` (diagnostics) if it is
/// missing, unreadable or not text.
llvm::Expected<std::string> readSource(const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_SOURCE_PARSEDPROGRAM_H
