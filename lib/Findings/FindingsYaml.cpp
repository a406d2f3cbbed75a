//===- FindingsYaml.cpp - Findings for clang-apply-replacements -----------===//
#include "kb-opt/Findings/Printers.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "clang/Tooling/DiagnosticsYaml.h"

using namespace kbopt;
namespace tooling = clang::tooling;

std::string kbopt::findingsAsYaml(const ParsedProgram &program, llvm::ArrayRef<ProgramFinding> findings) {
  const std::string &file = program.command().file;
  tooling::TranslationUnitDiagnostics unit;
  unit.MainSourceFile = file;
  for (const ProgramFinding &finding : findings) {
    tooling::DiagnosticMessage message(finding.message);
    message.FilePath = file;
    message.FileOffset = finding.begin;
    if (finding.promise == Promise::Bitwise)
      for (const FindingReplacement &each : finding.replacements)
        // Insertions at one place are joined in their order; edits of a rewrite do not overlap otherwise.
        if (llvm::Error error = message.Fix[file].add(tooling::Replacement(file, each.offset, each.length, each.text)))
          llvm::consumeError(std::move(error)), message.Fix.erase(file);
    unit.Diagnostics.push_back(tooling::Diagnostic("kbopt-" + finding.rule, message, {}, tooling::Diagnostic::Warning,
                                                   program.command().directory));
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::yaml::Output yaml(os);
  yaml << unit;
  return text;
}
