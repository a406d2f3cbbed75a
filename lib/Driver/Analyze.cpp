//===- Analyze.cpp - --analyze: what the compiler knows -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Modes.h"
#include "Version.h"
#include "kb-opt/Findings/Printers.h"
#include "kb-opt/Pipeline/Pipeline.h"
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

/// Which passes a search could begin with: those that apply somewhere, in a word each.
static llvm::Error sayWhatAutoWouldDo(Context &context, RewriteSession &session) {
  auto opportunities = session.opportunities();
  if (!opportunities)
    return opportunities.takeError();
  std::vector<std::string> passes;
  unsigned steps = 0;
  for (const Opportunity &each : *opportunities) {
    if (!each.applies)
      continue;
    ++steps;
    if (!llvm::is_contained(passes, each.step.pass))
      passes.push_back(each.step.pass);
  }
  context.progress.line(passes.empty()
                            ? "-passes=auto would find no pass that applies"
                            : "-passes=auto would choose among " + std::to_string(steps) +
                                  (steps == 1 ? " step" : " steps") + " of " +
                                  llvm::join(passes, ", ") + ", and judge and time what they make");
  return llvm::Error::success();
}

llvm::Expected<ExitStatus> kbopt::runAnalyze(Context &context) {
  if (llvm::Error error = openInput(context))
    return std::move(error);
  PipelineOptions pipeline;
  pipeline.registry = &context.passes;
  pipeline.parser = &context.parser;
  pipeline.target = context.options.chip;
  auto session = RewriteSession::create(context.text, context.command, pipeline);
  if (!session)
    return session.takeError();
  if (auto imported = (*session)->imported(); !imported)
    return imported.takeError();
  std::string text;
  std::vector<ProgramFinding> findings;
  if (llvm::Error error = (*session)->withPassContext([&](const PassContext &passes) {
        findings = collectFindings(passes, context.passes);
        text = printed(context, (*session)->parsed(), findings);
        return llvm::Error::success();
      }))
    return std::move(error);
  if (llvm::Error error = writeResult(context, text))
    return std::move(error);
  context.progress.line(std::to_string(findings.size()) +
                        (findings.size() == 1 ? " finding" : " findings"));
  if (context.options.emit == Emit::Findings)
    if (llvm::Error error = sayWhatAutoWouldDo(context, **session))
      return std::move(error);
  return context.options.warningsAsErrors && !findings.empty() ? ExitStatus::Diagnostics
                                                               : ExitStatus::Success;
}
