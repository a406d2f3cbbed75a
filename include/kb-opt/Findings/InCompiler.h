//===- InCompiler.h - Findings inside a tool of clang's ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the plugin of clang and the module of clang-tidy share: the findings
// of an AST that the tool has parsed, and their words and fix-its. How a finding is
// turned on and off is the tool's business.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_FINDINGS_INCOMPILER_H
#define KBOPT_FINDINGS_INCOMPILER_H

#include "kb-opt/Findings/Finding.h"
#include "clang/Basic/SourceLocation.h"

namespace clang {
class ASTContext;
class Preprocessor;
class StreamingDiagnostic;
} // namespace clang

namespace kbopt {

/// The findings of the main file of \p ast, which was parsed for the device and has no errors.
/// Nothing is run, read or written. A file without kernels costs a walk over its own declarations.
llvm::Expected<std::vector<ProgramFinding>>
findingsOf(clang::ASTContext &ast, clang::Preprocessor &preprocessor, const PassRegistry &registry);

/// What the note of \p finding says; empty where no pass mends it.
std::string noteOf(const ProgramFinding &finding);
/// Where notes lead to other places of \p finding, in bytes of the main file, and what they say.
/// The first few places have one each.
std::vector<std::pair<unsigned, std::string>> placeNotes(const ProgramFinding &finding);
/// Adds the range of \p finding; \p file is where the main file starts.
void addRange(const clang::StreamingDiagnostic &message, const ProgramFinding &finding,
              clang::SourceLocation file);
/// Adds the replacements of \p finding as fix-its, all of them.
void addFixes(const clang::StreamingDiagnostic &message, const ProgramFinding &finding,
              clang::SourceLocation file);

} // namespace kbopt

#endif // KBOPT_FINDINGS_INCOMPILER_H
