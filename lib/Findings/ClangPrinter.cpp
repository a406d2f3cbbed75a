//===- ClangPrinter.cpp - Findings as clang's diagnostics -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Findings/InCompiler.h"
#include "kb-opt/Findings/Printers.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"

using namespace kbopt;
using namespace clang;

namespace {

/// Reports findings to one engine.
class Reporter {
public:
  Reporter(const ParsedProgram &program, DiagnosticsEngine &engine)
      : engine(engine), sources(program.context().getSourceManager()) {
    start = sources.getLocForStartOfFile(sources.getMainFileID());
  }

  void report(const ProgramFinding &finding) {
    const bool safe = finding.promise == Promise::Bitwise;
    {
      DiagnosticBuilder warning = open(DiagnosticsEngine::Warning, finding,
                                       finding.message + " [kbopt-" + finding.rule + "]");
      addRange(warning, finding, start);
      if (safe)
        addFixes(warning, finding, start);
    }
    addPlaces(finding);
    std::string words = noteOf(finding);
    if (words.empty())
      return;
    DiagnosticBuilder note = open(DiagnosticsEngine::Note, finding, words);
    if (!safe)
      addFixes(note, finding, start);
  }

private:
  /// Notes at the other places of \p finding.
  void addPlaces(const ProgramFinding &finding) {
    for (const auto &[begin, words] : placeNotes(finding))
      engine.Report(start.getLocWithOffset(begin),
                    engine.getCustomDiagID(DiagnosticsEngine::Note, "%0"))
          << words;
  }

  DiagnosticBuilder open(DiagnosticsEngine::Level level, const ProgramFinding &finding,
                         llvm::StringRef words) {
    DiagnosticBuilder builder =
        engine.Report(start.getLocWithOffset(finding.begin), engine.getCustomDiagID(level, "%0"));
    builder << words;
    return builder;
  }

  DiagnosticsEngine &engine;
  SourceManager &sources;
  SourceLocation start;
};

} // namespace

std::string kbopt::findingsAsDiagnostics(const ParsedProgram &program,
                                         llvm::ArrayRef<ProgramFinding> findings, bool colours) {
  std::string text;
  llvm::raw_string_ostream os(text);
  DiagnosticOptions options;
  options.ShowColors = colours;
  TextDiagnosticPrinter printer(os, options);
  DiagnosticsEngine engine(llvm::makeIntrusiveRefCnt<DiagnosticIDs>(), options, &printer,
                           /*ShouldOwnClient=*/false);
  engine.setSourceManager(&program.context().getSourceManager());
  printer.BeginSourceFile(program.language(), nullptr);
  Reporter reporter(program, engine);
  for (const ProgramFinding &finding : findings)
    reporter.report(finding);
  printer.EndSourceFile();
  // The parser reads the file under its full path; the user is shown the name they gave.
  const std::string full = program.command().file, shown = program.shownFile().str();
  std::string result;
  llvm::StringRef rest = text;
  for (size_t found; (found = rest.find(full + ":")) != llvm::StringRef::npos;
       rest = rest.drop_front(found + full.size()))
    result += (rest.take_front(found) + shown).str();
  return result + rest.str();
}
