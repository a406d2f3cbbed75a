//===- FindingsYaml.cpp - Findings for clang-apply-replacements -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Findings/Printers.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "clang/Tooling/DiagnosticsYaml.h"

using namespace kbopt;
namespace tooling = clang::tooling;

/// The replacements of \p finding, all of them or nothing. Insertions at one place are joined in
/// their order.
static std::optional<tooling::Replacements> wholeFix(const std::string &file,
                                                     const ProgramFinding &finding) {
  std::vector<FindingReplacement> joined;
  for (const FindingReplacement &each : finding.replacements) {
    FindingReplacement *last = joined.empty() ? nullptr : &joined.back();
    if (last && last->offset + last->length == each.offset &&
        (last->length == 0 || each.length == 0)) {
      last->length += each.length;
      last->text += each.text;
    } else {
      joined.push_back(each);
    }
  }
  tooling::Replacements fix;
  for (const FindingReplacement &each : joined)
    if (llvm::Error error =
            fix.add(tooling::Replacement(file, each.offset, each.length, each.text))) {
      llvm::consumeError(std::move(error));
      return std::nullopt;
    }
  return fix;
}

std::string kbopt::findingsAsYaml(const ParsedProgram &program,
                                  llvm::ArrayRef<ProgramFinding> findings) {
  const std::string &file = program.command().file;
  tooling::TranslationUnitDiagnostics unit;
  unit.MainSourceFile = file;
  for (const ProgramFinding &finding : findings) {
    tooling::DiagnosticMessage message(finding.message);
    message.FilePath = file;
    message.FileOffset = finding.begin;
    if (finding.promise == Promise::Bitwise)
      if (std::optional<tooling::Replacements> fix = wholeFix(file, finding); fix && !fix->empty())
        message.Fix[file] = std::move(*fix);
    unit.Diagnostics.push_back(tooling::Diagnostic("kbopt-" + finding.rule, message, {},
                                                   tooling::Diagnostic::Warning,
                                                   program.command().directory));
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::yaml::Output yaml(os);
  yaml << unit;
  return text;
}
