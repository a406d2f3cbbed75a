//===- Diagnostic.cpp - Rendering compiler diagnostics --------------------===//
// SPDX-License-Identifier: Apache-2.0
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

/// For A<T>::f<N>(x), which may be two comparisons.
static std::string adviceOnTemplate(const SourceDiagnostic &diagnostic) {
  llvm::StringRef callee =
      llvm::StringRef(diagnostic.lineText).substr(diagnostic.column ? diagnostic.column - 1 : 0);
  auto [scope, name] = callee.take_until([](char c) { return c == '('; }).rsplit("::");
  llvm::StringRef function = name.take_until([](char c) { return c == '<'; });
  if (!scope.contains('<') || function.empty() || function == name)
    return "";
  return ("say that '" + function + "' is a template: '" + scope + "::template " + name.rtrim() +
          "'")
      .str();
}

/// For x = {} of a class with several assignments, as those of half-precision numbers are.
static std::string adviceOnBraces(const SourceDiagnostic &diagnostic) {
  auto [before, after] = llvm::StringRef(diagnostic.message).split("operand types '");
  llvm::StringRef type = after.take_until([](char c) { return c == '\''; });
  if (type.empty() || !llvm::StringRef(diagnostic.lineText).contains("{}"))
    return "";
  return ("name the type of what is assigned: '" + type + "{}' in the place of '{}'").str();
}

std::string kbopt::adviceForClang(llvm::ArrayRef<SourceDiagnostic> diagnostics) {
  for (const SourceDiagnostic &diagnostic : diagnostics) {
    llvm::StringRef message = diagnostic.severity == Severity::Error
                                  ? llvm::StringRef(diagnostic.message)
                                  : llvm::StringRef();
    std::string advice;
    if (message.starts_with("reference to overloaded function could not be resolved") ||
        message.starts_with("missing 'template' keyword prior to dependent template name"))
      advice = adviceOnTemplate(diagnostic);
    else if (message.starts_with("use of overloaded operator '=' is ambiguous"))
      advice = adviceOnBraces(diagnostic);
    if (!advice.empty())
      return (diagnostic.file + ":" + llvm::Twine(diagnostic.line) + ": " + advice +
              ", which nvcc takes too")
          .str();
  }
  return "";
}
