//===- DiagnosticCollector.cpp - clang's diagnostics as records -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "DiagnosticCollector.h"

#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallString.h"

using namespace kbopt;

static Severity severityOf(clang::DiagnosticsEngine::Level level) {
  switch (level) {
  case clang::DiagnosticsEngine::Ignored:
  case clang::DiagnosticsEngine::Note:
  case clang::DiagnosticsEngine::Remark:
    return Severity::Note;
  case clang::DiagnosticsEngine::Warning:
    return Severity::Warning;
  case clang::DiagnosticsEngine::Error:
    return Severity::Error;
  case clang::DiagnosticsEngine::Fatal:
    return Severity::Fatal;
  }
  llvm_unreachable("all levels are named");
}

void DiagnosticCollector::HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                                           const clang::Diagnostic &info) {
  DiagnosticConsumer::HandleDiagnostic(level, info);
  SourceDiagnostic record;
  record.severity = severityOf(level);
  llvm::SmallString<128> message;
  info.FormatDiagnostic(message);
  record.message = message.str().str();
  if (info.getLocation().isValid() && info.hasSourceManager()) {
    const clang::SourceManager &sources = info.getSourceManager();
    clang::SourceLocation place = sources.getExpansionLoc(info.getLocation());
    clang::PresumedLoc presumed = sources.getPresumedLoc(place);
    if (presumed.isValid()) {
      record.file = presumed.getFilename() == realFile ? shownFile : presumed.getFilename();
      record.line = presumed.getLine();
      record.column = presumed.getColumn();
    }
    auto [file, offset] = sources.getDecomposedLoc(place);
    bool invalid = false;
    llvm::StringRef text = sources.getBufferData(file, &invalid);
    if (!invalid && offset <= text.size()) {
      size_t begin = text.rfind('\n', offset);
      begin = begin == llvm::StringRef::npos ? 0 : begin + 1;
      record.lineText = text.slice(begin, text.find('\n', offset)).rtrim('\r').str();
    }
  }
  records.push_back(std::move(record));
}
