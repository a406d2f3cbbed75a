//===- Replay.cpp - -passes=PIPELINE --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LockRun.h"
#include "Modes.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Report/RemarkYaml.h"

using namespace kbopt;

llvm::Expected<ExitStatus> kbopt::runReplay(Context &context) {
  const Options &options = context.options;
  // A misspelt pipeline is reported before anything is compiled.
  auto steps = parsePipeline(options.passes, context.passes);
  if (!steps)
    return steps.takeError();
  if (llvm::Error error = openInput(context))
    return std::move(error);
  auto pipeline = pipelineOptions(context);
  if (!pipeline)
    return pipeline.takeError();
  // What a model wrote is compiled as a candidate is.
  CodeEmitter emitter(context.runner, compileLimits(context));
  if (llvm::any_of(*steps, [](const Step &step) { return !step.reply.empty(); }))
    pipeline->bitcode = [&](llvm::StringRef text) {
      return emitter.emitDeviceBitcode(context.command, text);
    };
  pipeline->bisectLimit = options.bisectLimit;
  pipeline->timePasses = options.timePasses;
  if (options.bisectLimit >= 0)
    pipeline->onBisect = [&](int64_t number, const Remark &rewrite, bool ran) {
      context.progress.line((llvm::Twine("BISECT: ") + (ran ? "" : "NOT ") + "running rewrite (" +
                             llvm::Twine(number) + ") " + formatRemark(rewrite))
                                .str());
    };
  auto result = runPipeline(context.text, context.command, options.passes, *pipeline);
  if (!result)
    return result.takeError();
  showRemarks(context, result->remarks);
  if (options.lock && !result->applied.empty()) {
    if (auto status = lockReplayed(context, *result); !status || *status != ExitStatus::Success)
      return status;
  } else if (options.lock) {
    context.progress.line("lock: no pass of the pipeline applies, so there is nothing to keep");
  }
  if (options.printPipeline)
    context.err << printPipeline(result->applied) << "\n";
  context.err << result->timing;
  if (llvm::Error error = writeRemarks(context, result->remarks))
    return std::move(error);
  if (llvm::Error error = writeProgram(context, result->text))
    return std::move(error);
  return ExitStatus::Success;
}
