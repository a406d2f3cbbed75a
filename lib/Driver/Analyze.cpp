//===- Analyze.cpp - --analyze: what the compiler knows -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Modes.h"
#include "Version.h"
#include "kb-opt/Findings/Printers.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;

static std::string printed(Context &context, const ParsedProgram &program,
                           llvm::ArrayRef<ProgramFinding> findings) {
  switch (context.options.emit) {
  case Emit::FindingsYaml:
    return findingsAsYaml(program, findings);
  case Emit::FindingsJson:
    return findingsAsJson(program, findings);
  case Emit::Sarif:
    return findingsAsSarif(program, findings, kbOptVersion());
  default:
    return findingsAsDiagnostics(program, findings,
                                 context.options.output.empty() && context.out.is_displayed());
  }
}

/// Which passes a search could begin with: those that apply somewhere.
static llvm::Error sayWhatAutoWouldDo(Context &context, RewriteSession &session) {
  auto passes = session.passesThatApply();
  if (!passes)
    return passes.takeError();
  context.progress.line(passes->empty()
                            ? "-passes=auto would find no pass that applies"
                            : "-passes=auto would choose among " + llvm::join(*passes, ", ") +
                                  ", and judge and time what they make");
  return llvm::Error::success();
}

/// What was not looked at: kernels in other files, and after the end of the time the rest.
static void sayCoverage(Context &context, const FindingsCoverage &coverage) {
  if (std::string words = coverage.elsewhereWords(context.command.shownFile); !words.empty())
    context.progress.line(words);
  if (coverage.notExamined)
    context.progress.line("stopped: time budget spent; " + std::to_string(coverage.notExamined) +
                          " of " + std::to_string(coverage.kernels) +
                          (coverage.kernels == 1 ? " kernel was" : " kernels were") +
                          " not examined");
}

/// The findings of \p session and what they cover; those so far where the time ends.
static llvm::Expected<std::vector<ProgramFinding>>
collect(Context &context, RewriteSession &session, FindingsCoverage &coverage) {
  std::vector<ProgramFinding> findings;
  coverage = findingsCoverage(session.parsed());
  llvm::Error error = session.withPassContext([&](const PassContext &passes) {
    findings = collectFindings(passes, context.passes, interrupted, &coverage);
    return llvm::Error::success();
  });
  if (!error && interrupted() && !isTimeUp())
    return interruption();
  if (error && isTimeUp())
    error = dropInterruptions(std::move(error));
  if (error)
    return std::move(error);
  return findings;
}

llvm::Expected<ExitStatus> kbopt::runAnalyze(Context &context) {
  if (context.options.budgetSeconds > 0)
    endWorkAt(realClock().monotonicSeconds() + context.options.budgetSeconds);
  if (llvm::Error error = openInput(context))
    return std::move(error);
  PipelineOptions pipeline;
  pipeline.registry = &context.passes;
  pipeline.parser = &context.parser;
  pipeline.target = context.options.chip;
  pipeline.stop = interrupted;
  auto session = RewriteSession::create(context.text, context.command, pipeline);
  if (!session)
    return session.takeError();
  FindingsCoverage coverage;
  auto findings = collect(context, **session, coverage);
  if (!findings)
    return findings.takeError();
  if (llvm::Error error = writeResult(context, printed(context, (*session)->parsed(), *findings)))
    return std::move(error);
  context.progress.line(std::to_string(findings->size()) +
                        (findings->size() == 1 ? " finding" : " findings"));
  sayCoverage(context, coverage);
  if (coverage.notExamined)
    return ExitStatus::Budget;
  if (context.options.emit == Emit::Findings)
    if (llvm::Error error = sayWhatAutoWouldDo(context, **session))
      if (!isTimeUp() || (error = dropInterruptions(std::move(error))))
        return std::move(error);
  return context.options.warningsAsErrors && !findings->empty() ? ExitStatus::Diagnostics
                                                                : ExitStatus::Success;
}
