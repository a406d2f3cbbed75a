//===- Printers.h - Findings as text and as data ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the forms in which findings leave: clang's diagnostics, the YAML of
// clang-apply-replacements, SARIF and JSON.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_FINDINGS_PRINTERS_H
#define KBOPT_FINDINGS_PRINTERS_H

#include "kb-opt/Findings/Finding.h"

namespace kbopt {

class ParsedProgram;

/// Warnings with ranges, notes and fix-its, by clang's own printer; \p colours for a terminal.
std::string findingsAsDiagnostics(const ParsedProgram &program,
                                  llvm::ArrayRef<ProgramFinding> findings, bool colours = false);
/// What `clang-apply-replacements` reads. Only replacements that keep every bit of the results are
/// in it.
std::string findingsAsYaml(const ParsedProgram &program, llvm::ArrayRef<ProgramFinding> findings);
/// SARIF 2.1.0 with partial fingerprints and fixes; paths are relative to the nearest folder with a
/// `.git`, else to the working directory.
std::string findingsAsSarif(const ParsedProgram &program, llvm::ArrayRef<ProgramFinding> findings,
                            llvm::StringRef version);
/// An array of objects with the fields of `ProgramFinding`.
std::string findingsAsJson(const ParsedProgram &program, llvm::ArrayRef<ProgramFinding> findings);

} // namespace kbopt

#endif // KBOPT_FINDINGS_PRINTERS_H
