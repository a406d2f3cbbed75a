//===- Answer.cpp - A reply by hand ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way for people: what a coder is shown (--emit=anchors), and their answer
// in place of a model's (--reply). From there on it is a reply like any other.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "kb-opt/Assisted/ReplyStore.h"
#include "kb-opt/Pipeline/PipelineText.h"
#include "kb-opt/Rewrite/Assisted/Grounding.h"

using namespace kbopt;

/// The one step that -passes names; its pass has an assisted form.
static llvm::Expected<Step> stepToFill(Context &context) {
  auto steps = parsePipeline(context.options.passes, context.passes);
  if (!steps)
    return steps.takeError();
  const Step &step = steps->front();
  if (steps->size() != 1 || step.kernel.empty() || !step.reply.empty())
    return llvm::make_error<UsageError>("'" + context.options.passes +
                                            "' does not name one pass and one kernel",
                                        "write -passes='" + step.pass + "{kernel=name}'");
  if (!context.passes.lookup(step.pass)->info->assisted)
    return llvm::make_error<UsageError>("pass '" + step.pass + "' has no assisted form",
                                        "kb-opt --list-passes shows the passes");
  return step;
}

static llvm::Expected<GroundedSource> groundStep(Context &context, const Step &step) {
  if (llvm::Error error = openInput(context))
    return std::move(error);
  auto program = context.parser.parse(context.command, context.text);
  if (!program)
    return program.takeError();
  GroundingRequest request;
  request.kernel = step.kernel;
  request.allow = context.passes.lookup(step.pass)->info->assisted->allow;
  return ground(**program, request);
}

llvm::Expected<ExitStatus> kbopt::emitAnchors(Context &context) {
  auto step = stepToFill(context);
  if (!step)
    return step.takeError();
  auto source = groundStep(context, *step);
  if (!source)
    return source.takeError();
  for (const GroundedAnchor &each : source->anchors)
    context.progress.line(each.id + ": " + each.what);
  for (const std::string &left : source->left)
    context.progress.line("no anchor for " + left);
  if (llvm::Error error = writeResult(context, source->marked(SIZE_MAX)))
    return std::move(error);
  return ExitStatus::Success;
}

llvm::Expected<ExitStatus> kbopt::applyAnswer(Context &context) {
  auto step = stepToFill(context);
  if (!step)
    return step.takeError();
  auto bytes = context.files.read(context.options.reply);
  if (!bytes)
    return bytes.takeError();
  auto json = llvm::json::parse(*bytes);
  if (!json)
    return llvm::make_error<UsageError>(
        "'" + context.options.reply + "' is no JSON: " + llvm::toString(json.takeError()),
        "docs/Pipeline.md describes answers", ExitStatus::Diagnostics);
  auto answer = readCoderReply(*json);
  if (!answer)
    return answer.takeError();
  if (!answer->pass.empty() && answer->pass != step->pass)
    return llvm::make_error<UsageError>("'" + context.options.reply + "' is for pass '" +
                                            answer->pass + "', not for '" + step->pass + "'",
                                        "name that pass in -passes", ExitStatus::Diagnostics);
  auto source = groundStep(context, *step);
  if (!source)
    return source.takeError();
  ReplyOrRefusal made =
      makeReply(*source, *context.passes.lookup(step->pass)->info, std::move(*answer));
  if (made.refusal)
    return llvm::make_error<UsageError>(
        "'" + context.options.reply + "' is " + made.refusal->text(), "", ExitStatus::Diagnostics);
  auto digest = ReplyStore(repliesFolder(context), context.files).put(made.reply);
  if (!digest)
    return digest.takeError();
  step->reply = *digest;
  step->parameters.clear();
  context.options.passes = printPipeline({*step});
  context.progress.line("the reply is kept: " + context.options.passes);
  return runReplay(context);
}
