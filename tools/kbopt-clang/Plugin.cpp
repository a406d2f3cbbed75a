//===- Plugin.cpp - Findings while clang compiles -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the plugin of clang: when it looks at a translation unit, which findings
// are warnings, remarks or errors, and which are off. docs/Plugin.md.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Findings/InCompiler.h"
#include "kb-opt/Rewrite/PassRegistry.h"
#include "clang/Driver/Compilation.h"
#include "clang/Driver/Driver.h"
#include "clang/Driver/Tool.h"
#include "clang/Frontend/FrontendPluginRegistry.h"
#include "clang/Frontend/Utils.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/TargetParser/Host.h"
#include <unistd.h>

using namespace kbopt;
using namespace clang;

namespace {

/// What the user asked for, by rule without `kbopt-`.
struct Settings {
  std::set<std::string> off, errors;
  std::string arch; ///< the one to report for; empty: the first of the command
};

/// The words of process \p pid's command line; empty if it cannot be read.
std::vector<std::string> commandLineOf(llvm::StringRef pid) {
  std::vector<std::string> words;
  auto text = llvm::MemoryBuffer::getFileAsStream(("/proc/" + pid + "/cmdline").str());
  if (!text)
    return words;
  llvm::StringRef rest = (*text)->getBuffer();
  while (!rest.empty()) {
    auto [word, more] = rest.split('\0');
    words.push_back(word.str());
    rest = more;
  }
  return words;
}

/// The driver's command: this process where it compiles in itself, else its parent.
std::vector<std::string> driverCommand() {
  std::vector<std::string> own = commandLineOf("self");
  if (own.size() < 2 || own[1] != "-cc1")
    return own;
  return commandLineOf(std::to_string(getppid()));
}

/// The architecture that clang compiles first under \p words; empty where that is not known.
std::string firstArchitecture(const std::vector<std::string> &words) {
  llvm::SmallVector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  if (arguments.empty())
    return "";
  IgnoringDiagConsumer ignored;
  DiagnosticOptions options;
  DiagnosticsEngine diagnostics(DiagnosticIDs::create(), options, &ignored,
                                /*ShouldOwnClient=*/false);
  driver::Driver driver(words.front(), llvm::sys::getDefaultTargetTriple(), diagnostics, "clang");
  driver.setCheckInputsExist(false);
  std::unique_ptr<driver::Compilation> compilation(driver.BuildCompilation(arguments));
  if (!compilation)
    return "";
  for (const driver::Command &job : compilation->getJobs()) {
    const auto &words = job.getArguments();
    auto is = [](llvm::StringRef name) {
      return [name](const char *word) { return llvm::StringRef(word) == name; };
    };
    auto cpu = llvm::find_if(words, is("-target-cpu"));
    if (llvm::any_of(words, is("-fcuda-is-device")) && cpu != words.end() &&
        std::next(cpu) != words.end())
      return *std::next(cpu);
  }
  return "";
}

/// Takes over `-Wno-kbopt-RULE`, `-Wkbopt-RULE`, `-Werror=kbopt-RULE` and `-Wno-error=kbopt-RULE`,
/// in order.
void readWarningFlags(llvm::ArrayRef<std::string> flags, Settings &settings) {
  for (llvm::StringRef flag : flags) {
    const bool no = flag.consume_front("no-"), error = flag.consume_front("error=");
    if (!flag.consume_front("kbopt"))
      continue;
    const bool all = flag.empty();
    if (!all && !flag.consume_front("-"))
      continue;
    for (const FindingRule &rule : findingRules()) {
      if (!all && rule.id != flag)
        continue;
      const std::string id = rule.id.str();
      std::set<std::string> &changed = error ? settings.errors : settings.off;
      no != error ? void(changed.insert(id)) : void(changed.erase(id));
      if (error && !no)
        settings.off.erase(id);
    }
  }
}

class Consumer : public ASTConsumer {
public:
  Consumer(CompilerInstance &compiler, Settings settings)
      : compiler(compiler), settings(std::move(settings)) {}

  void HandleTranslationUnit(ASTContext &ast) override {
    DiagnosticsEngine &engine = compiler.getDiagnostics();
    if (engine.hasErrorOccurred())
      return;
    llvm::Expected<std::vector<ProgramFinding>> findings =
        findingsOf(ast, compiler.getPreprocessor(), builtinPasses());
    if (!findings) {
      engine.Report(
          engine.getCustomDiagID(DiagnosticsEngine::Warning, "kb-opt has no findings here: %0"))
          << llvm::toString(findings.takeError());
      return;
    }
    SourceManager &sources = ast.getSourceManager();
    start = sources.getLocForStartOfFile(sources.getMainFileID());
    for (const ProgramFinding &finding : *findings)
      if (!settings.off.count(finding.rule))
        report(engine, finding);
  }

private:
  /// What an estimate says is a remark, which -Rpass-analysis turns on as it does with LLVM's.
  std::optional<unsigned> idFor(DiagnosticsEngine &engine, const ProgramFinding &finding) {
    const bool error = settings.errors.count(finding.rule);
    if (finding.proof == FindingProof::Estimated && !error) {
      if (!compiler.getCodeGenOpts().OptimizationRemarkAnalysis.patternMatches("kbopt-" +
                                                                               finding.rule))
        return std::nullopt;
      return engine.getCustomDiagID(DiagnosticsEngine::Remark, "%0 [kbopt-%1]");
    }
    // In clang's group for plugins: -Wno-backend-plugin and -Werror=backend-plugin are for all
    // findings.
    return engine.getDiagnosticIDs()->getCustomDiagID(
        {error ? diag::Severity::Error : diag::Severity::Warning, "%0 [kbopt-%1]",
         error ? DiagnosticIDs::CLASS_ERROR : DiagnosticIDs::CLASS_WARNING, false, false,
         error ? std::nullopt : std::optional(diag::Group::BackendPlugin)});
  }

  void report(DiagnosticsEngine &engine, const ProgramFinding &finding) {
    std::optional<unsigned> id = idFor(engine, finding);
    if (!id)
      return;
    const bool safe = finding.promise == Promise::Bitwise;
    const SourceLocation at = start.getLocWithOffset(finding.begin);
    {
      DiagnosticBuilder message = engine.Report(at, *id);
      message << finding.message << finding.rule;
      addRange(message, finding, start);
      if (safe)
        addFixes(message, finding, start);
    }
    for (const auto &[begin, words] : placeNotes(finding))
      engine.Report(start.getLocWithOffset(begin),
                    engine.getCustomDiagID(DiagnosticsEngine::Note, "%0"))
          << words;
    if (std::string words = noteOf(finding); !words.empty()) {
      DiagnosticBuilder note =
          engine.Report(at, engine.getCustomDiagID(DiagnosticsEngine::Note, "%0"));
      note << words;
      if (!safe)
        addFixes(note, finding, start);
    }
  }

  CompilerInstance &compiler;
  Settings settings;
  SourceLocation start;
};

class Plugin : public PluginASTAction {
protected:
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance &compiler,
                                                 llvm::StringRef) override {
    if (!compiler.getLangOpts().CUDA || !compiler.getLangOpts().CUDAIsDevice)
      return std::make_unique<ASTConsumer>();
    // clang runs once for each architecture; one of them speaks.
    const std::string &own = compiler.getTargetOpts().CPU;
    std::string chosen = settings.arch.empty() ? firstArchitecture(driverCommand()) : settings.arch;
    if (!chosen.empty() && chosen != own)
      return std::make_unique<ASTConsumer>();
    Settings all = settings;
    readWarningFlags(compiler.getDiagnosticOpts().Warnings, all);
    return std::make_unique<Consumer>(compiler, std::move(all));
  }

  bool ParseArgs(const CompilerInstance &compiler,
                 const std::vector<std::string> &arguments) override {
    DiagnosticsEngine &engine = compiler.getDiagnostics();
    for (llvm::StringRef argument : arguments) {
      llvm::StringRef rule = argument;
      const bool off = rule.consume_front("no-"), error = !off && rule.consume_front("error=");
      if ((off || error) && findingRule(rule)) {
        (off ? settings.off : settings.errors).insert(rule.str());
      } else if (rule.consume_front("arch=") && !off && !error) {
        settings.arch = rule.str();
      } else {
        engine.Report(engine.getCustomDiagID(DiagnosticsEngine::Error,
                                             "kb-opt's plugin does not know '%0': it takes "
                                             "no-RULE, error=RULE and arch=sm_NN"))
            << argument;
        return false;
      }
    }
    return true;
  }

  ActionType getActionType() override { return AddBeforeMainAction; }

private:
  Settings settings;
};

} // namespace

static FrontendPluginRegistry::Add<Plugin> registration("kbopt",
                                                        "findings of kb-opt on CUDA kernels");
