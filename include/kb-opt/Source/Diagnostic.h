//===- Diagnostic.h - What the compiler says about a program ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns compiler diagnostics as plain records and their rendering.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_DIAGNOSTIC_H
#define KBOPT_SOURCE_DIAGNOSTIC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace kbopt {

enum class Severity { Note, Warning, Error, Fatal };

struct SourceDiagnostic {
  Severity severity;
  std::string file;    ///< as the user wrote it; empty without a place
  unsigned line = 0;   ///< from 1
  unsigned column = 0; ///< from 1, in bytes
  std::string message;
  std::string lineText; ///< the source line, without its newline

  /// `file:line:col: error: message`, the line and a caret below it.
  std::string render() const;
};

/// All of \p diagnostics that are at least \p least (notes go with the record
/// before them), at most \p limit errors.
std::string renderDiagnostics(llvm::ArrayRef<SourceDiagnostic> diagnostics,
                              Severity least = Severity::Error, unsigned limit = 5);

/// What the user can change where clang refuses what nvcc takes; empty where
/// \p diagnostics show nothing of the kind.
std::string adviceForClang(llvm::ArrayRef<SourceDiagnostic> diagnostics);

} // namespace kbopt

#endif // KBOPT_SOURCE_DIAGNOSTIC_H
