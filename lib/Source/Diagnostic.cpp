//===- Diagnostic.cpp - Rendering compiler diagnostics --------------------===//
#include "kb-opt/Source/Diagnostic.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;

static llvm::StringRef severityName(Severity severity) {
  switch (severity) {
  case Severity::Note:
    return "note";
  case Severity::Warning:
    return "warning";
  case Severity::Error:
    return "error";
  case Severity::Fatal:
    return "fatal error";
  }
  llvm_unreachable("all severities are named");
}

std::string SourceDiagnostic::render() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!file.empty()) {
    os << file << ':';
    if (line)
      os << line << ':' << column << ':';
    os << ' ';
  }
  os << severityName(severity) << ": " << message;
  if (line && !lineText.empty()) {
    os << '\n' << lineText << '\n';
    // Tabs stay tabs, so that the caret stands below its character.
    for (char c : llvm::StringRef(lineText).take_front(column ? column - 1 : 0))
      os << (c == '\t' ? '\t' : ' ');
    os << '^';
  }
  return text;
}

std::string kbopt::renderDiagnostics(llvm::ArrayRef<SourceDiagnostic> diagnostics, Severity least,
                                     unsigned limit) {
  std::string text;
  unsigned shown = 0, left = 0;
  bool show = false;
  for (const SourceDiagnostic &diagnostic : diagnostics) {
    if (diagnostic.severity != Severity::Note) {
      show = diagnostic.severity >= least;
      if (show && shown == limit) {
        ++left;
        show = false;
      } else if (show) {
        ++shown;
      }
    }
    if (!show)
      continue;
    if (!text.empty())
      text += '\n';
    text += diagnostic.render();
  }
  if (left)
    text += "\n(and " + llvm::utostr(left) + " more)";
  return text;
}
