//===- PipelineOptions.cpp - How a pipeline runs without a search ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "Context.h"
#include "kb-opt/Pipeline/Pipeline.h"

using namespace kbopt;

/// What the workload passes to the function that it calls. A workload that cannot be read is an
/// error if the options name it, and a warning otherwise: nothing is run.
static llvm::Expected<EntryValues> entryValues(Context &context) {
  EntryValues values;
  auto found = findWorkload(context.command.file, context.options.workload);
  if (!found && !context.options.workload.empty())
    return found.takeError();
  if (!found) {
    context.err << "kb-opt: warning: " << llvm::toString(found.takeError())
                << "; schedules are put in order without its sizes\n";
    return values;
  }
  if (!*found || (*found)->kind != WorkloadKind::Entry)
    return values;
  const Workload &workload = **found;
  values.function = workload.entryName().str();
  for (const WorkloadParameter &parameter : workload.parameters) {
    if (parameter.isBuffer || parameter.isCxx)
      continue;
    llvm::Expected<int64_t> value = evaluateExpression(parameter.value, workload.sizes);
    if (value)
      values.parameters[parameter.name] = *value;
    else
      llvm::consumeError(value.takeError()); // a search says so
  }
  return values;
}

llvm::Expected<PipelineOptions> kbopt::pipelineOptions(Context &context) {
  PipelineOptions pipeline;
  pipeline.registry = &context.passes;
  pipeline.parser = &context.parser;
  pipeline.replies = repliesFolder(context);
  pipeline.target = context.options.chip;
  auto entry = entryValues(context);
  if (!entry)
    return entry.takeError();
  pipeline.entry = std::move(*entry);
  return pipeline;
}
