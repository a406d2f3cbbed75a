//===- Tidy.cpp - Findings as checks of clang-tidy ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the module of clang-tidy: one check for each rule, kbopt-RULE. The checks
// of one translation unit share one analysis. docs/ClangTidy.md.
//
//===----------------------------------------------------------------------===//
#include "clang-tidy/ClangTidyCheck.h"
#include "clang-tidy/ClangTidyModule.h"
#include "clang-tidy/ClangTidyModuleRegistry.h"
#include "kb-opt/Findings/InCompiler.h"
#include "kb-opt/Rewrite/PassRegistry.h"
#include "clang/AST/ASTContext.h"

using namespace kbopt;
using namespace clang;

namespace {

/// The findings of the translation unit that is open; clang-tidy works on one at a time.
struct Shared {
  const ASTContext *of = nullptr;
  std::vector<ProgramFinding> findings;
  std::string failure;
};
Shared shared;

class Check : public tidy::ClangTidyCheck {
public:
  Check(StringRef name, tidy::ClangTidyContext *context)
      : ClangTidyCheck(name, context), rule(name.str()) {
    rule.erase(0, llvm::StringRef("kbopt-").size());
  }

  bool isLanguageVersionSupported(const LangOptions &language) const override {
    return language.CUDA;
  }
  void registerPPCallbacks(const SourceManager &, Preprocessor *preprocessor,
                           Preprocessor *) override {
    lexing = preprocessor;
    shared = Shared(); // a context of an earlier file may have lain at the same address
  }
  void registerMatchers(ast_matchers::MatchFinder *finder) override {
    finder->addMatcher(ast_matchers::translationUnitDecl().bind("unit"), this);
  }

  void check(const ast_matchers::MatchFinder::MatchResult &result) override {
    if (!result.Context->getDiagnostics().hasUncompilableErrorOccurred())
      unit = result.Context;
  }

  /// Not while the matchers walk the tree: the analysis changes which part of it is walked.
  void onEndOfTranslationUnit() override {
    if (!unit)
      return;
    SourceManager &sources = unit->getSourceManager();
    const SourceLocation start = sources.getLocForStartOfFile(sources.getMainFileID());
    if (!unit->getLangOpts().CUDAIsDevice) {
      if (shared.of != unit)
        diag(start, "the findings of kb-opt need the device side: run clang-tidy with "
                    "--extra-arg=--cuda-device-only");
      shared.of = unit;
      return;
    }
    if (shared.of != unit) {
      shared.of = unit;
      if (llvm::Expected<std::vector<ProgramFinding>> found =
              findingsOf(*unit, *lexing, builtinPasses()))
        shared.findings = std::move(*found);
      else
        diag(start, "kb-opt has no findings here: %0") << llvm::toString(found.takeError());
    }
    for (const ProgramFinding &finding : shared.findings)
      if (finding.rule == rule)
        report(finding, start);
  }

private:
  void report(const ProgramFinding &finding, SourceLocation start) {
    const SourceLocation at = start.getLocWithOffset(finding.begin);
    {
      DiagnosticBuilder message = diag(at, "%0");
      message << finding.message;
      addRange(message, finding, start);
      if (finding.promise == Promise::Bitwise)
        addFixes(message, finding, start);
    }
    for (const auto &[begin, words] : placeNotes(finding))
      diag(start.getLocWithOffset(begin), "%0", DiagnosticIDs::Note) << words;
    if (std::string words = noteOf(finding); !words.empty()) {
      DiagnosticBuilder note = diag(at, "%0", DiagnosticIDs::Note);
      note << words;
      if (finding.promise != Promise::Bitwise)
        addFixes(note, finding, start);
    }
  }

  std::string rule;
  Preprocessor *lexing = nullptr;
  ASTContext *unit = nullptr;
};

class Checks : public tidy::ClangTidyModule {
public:
  void addCheckFactories(tidy::ClangTidyCheckFactories &factories) override {
    for (const FindingRule &rule : findingRules())
      factories.registerCheck<Check>(("kbopt-" + rule.id).str());
  }
};

} // namespace

static tidy::ClangTidyModuleRegistry::Add<Checks>
    registration("kbopt-module", "Findings of kb-opt on CUDA kernels.");
