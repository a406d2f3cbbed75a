//===- DiagnosticCollector.h - clang's diagnostics as records --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_SOURCE_DIAGNOSTICCOLLECTOR_H
#define KBOPT_LIB_SOURCE_DIAGNOSTICCOLLECTOR_H

#include "kb-opt/Source/Diagnostic.h"
#include "clang/Basic/Diagnostic.h"

namespace kbopt {

/// Turns diagnostics into plain records as they come.
class DiagnosticCollector : public clang::DiagnosticConsumer {
public:
  /// The file \p realFile is shown as \p shownFile.
  DiagnosticCollector(llvm::StringRef realFile, llvm::StringRef shownFile)
      : realFile(realFile), shownFile(shownFile) {}

  void BeginSourceFile(const clang::LangOptions &options, const clang::Preprocessor *) override {
    language = &options;
  }
  void EndSourceFile() override { language = nullptr; }
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic &info) override;

  /// clang clears its consumers' counts between phases; the records stay.
  bool hasErrors() const {
    return llvm::any_of(
        records, [](const SourceDiagnostic &record) { return record.severity >= Severity::Error; });
  }
  llvm::ArrayRef<SourceDiagnostic> diagnostics() const { return records; }
  std::vector<SourceDiagnostic> takeDiagnostics() { return std::move(records); }
  void forget() { records.clear(); }

private:
  std::string realFile, shownFile;
  const clang::LangOptions *language = nullptr;
  std::vector<SourceDiagnostic> records;
};

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_DIAGNOSTICCOLLECTOR_H
