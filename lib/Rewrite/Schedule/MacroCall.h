//===- MacroCall.h - A use of a macro as the text that it stands for -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
//   #define LAUNCH(f, ...) f<<<1, 256>>>(__VA_ARGS__); check()
//   LAUNCH(scale, x, n);    // stands for  scale<<<1, 256>>>(x, n); check();
//
// Owns writing a macro out, one level deep, and where in that text an expression of the AST stands.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_MACROCALL_H
#define KBOPT_LIB_REWRITE_SCHEDULE_MACROCALL_H

#include "kb-opt/Source/ParsedProgram.h"
#include <map>

namespace kbopt {

class MacroCall {
public:
  /// The use of a macro in the main file that \p inside comes from. Null where that cannot be
  /// written out: the macro joins or quotes tokens, or has been defined more than once. Lives as
  /// long as the program.
  static const MacroCall *around(const ParsedProgram &program, clang::SourceLocation inside);

  /// What the macro stands for.
  llvm::StringRef text() const { return expansion; }
  /// The use, in the file.
  clang::SourceRange range() const { return use; }
  /// Begin and end of \p range in the text; none where an end of it comes from further macros.
  std::optional<std::pair<size_t, size_t>> find(clang::SourceRange range) const;

private:
  explicit MacroCall(const ParsedProgram &program) : program(&program) {}
  bool write(clang::SourceLocation name);
  std::optional<size_t> offsetOf(clang::SourceLocation token) const;

  /// One token of the macro's body, and what stands for it.
  struct Piece {
    size_t begin;                   ///< in the text
    clang::SourceLocation argument; ///< of a parameter: where its argument begins in the file
  };

  const ParsedProgram *program;
  clang::SourceRange use;
  std::string expansion;
  std::map<clang::SourceLocation, Piece> pieces; ///< by token of the body
};

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_MACROCALL_H
