//===- ClangPrinter.cpp - Findings as clang's diagnostics -----------------===//
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
      if (safe)
        addFixes(warning, finding);
    }
    std::string pipeline = finding.pipeline();
    if (pipeline.empty())
      return;
    std::string words = "-passes='" + pipeline + "' ";
    words += finding.summary.empty() ? "may mend this" : "mends this: " + finding.summary;
    if (!safe)
      words += " (" + promiseName(finding.promise).str() + ")";
    DiagnosticBuilder note = open(DiagnosticsEngine::Note, finding, words);
    if (!safe)
      addFixes(note, finding);
  }

private:
  DiagnosticBuilder open(DiagnosticsEngine::Level level, const ProgramFinding &finding, llvm::StringRef words) {
    DiagnosticBuilder builder = engine.Report(at(finding.begin), engine.getCustomDiagID(level, "%0"));
    builder << words;
    if (level != DiagnosticsEngine::Note)
      builder << CharSourceRange::getCharRange(at(finding.begin), at(finding.end));
    return builder;
  }
  void addFixes(DiagnosticBuilder &builder, const ProgramFinding &finding) {
    for (const FindingReplacement &each : finding.replacements)
      builder << FixItHint::CreateReplacement(
          CharSourceRange::getCharRange(at(each.offset), at(each.offset + each.length)), each.text);
  }
  SourceLocation at(unsigned offset) const { return start.getLocWithOffset(offset); }

  DiagnosticsEngine &engine;
  SourceManager &sources;
  SourceLocation start;
};

} // namespace

std::string kbopt::findingsAsDiagnostics(const ParsedProgram &program, llvm::ArrayRef<ProgramFinding> findings,
                                         bool colours) {
  std::string text;
  llvm::raw_string_ostream os(text);
  DiagnosticOptions options;
  options.ShowColors = colours;
  TextDiagnosticPrinter printer(os, options);
  DiagnosticsEngine engine(llvm::makeIntrusiveRefCnt<DiagnosticIDs>(), options, &printer, /*ShouldOwnClient=*/false);
  engine.setSourceManager(&program.context().getSourceManager());
  printer.BeginSourceFile(program.language(), nullptr);
  Reporter reporter(program, engine);
  for (const ProgramFinding &finding : findings)
    reporter.report(finding);
  printer.EndSourceFile();
  // The parser reads the file under its full path; the user is shown the name they gave.
  const std::string full = program.command().file, shown = program.shownFile().str();
  for (size_t found = 0; full != shown && (found = text.find(full + ":", found)) != std::string::npos;
       found += shown.size())
    text.replace(found, full.size(), shown);
  return text;
}
