//===- PipelineStep.h - One element of a textual pipeline ------*- C++ -*-===//
//
// Owns the pipeline as a value: what `-passes=` parses to and what
// `--print-pipeline` prints. The syntax is MLIR's (docs/Pipeline.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PIPELINE_PIPELINESTEP_H
#define KBOPT_PIPELINE_PIPELINESTEP_H

#include "kb-opt/Rewrite/PassRegistry.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>
#include <vector>

namespace kbopt {

/// `pass{option=value kernel=name site=2}`, or with a model's reply
/// `pass{reply=digest PARAMETER=value kernel=name}`.
struct PipelineStep {
  /// The pass's own name, never an alias.
  std::string pass;
  /// Name of the reply file that the pass's assisted form applies; empty: the pass's own rule.
  std::string reply;
  /// Options that differ from their default, in the order of Pass.td; with a reply the values
  /// of the reply's parameters, by name.
  std::vector<std::pair<std::string, std::string>> options;
  /// Only this kernel, by its name in the source; empty for all.
  std::string kernel;
  /// Only this site, from 1 in source order among the selected kernels'
  /// sites; 0 for all.
  unsigned site = 0;

  bool operator==(const PipelineStep &) const = default;
};

/// Parses \p text with MLIR's pipeline parser. Aliases are replaced by names.
/// Errors are `UsageError`s that show the text with a caret under the place;
/// for a misspelt pass or option the note suggests the nearest name. An empty
/// pipeline is an error. Not thread-safe in its first call (it registers the
/// passes with MLIR, whose registry is process-wide).
llvm::Expected<std::vector<PipelineStep>> parsePipeline(llvm::StringRef text,
                                                const PassRegistry &registry);

/// The text that parses to \p steps: `a,b{width=8 kernel=k}`.
std::string printPipeline(llvm::ArrayRef<PipelineStep> steps);

} // namespace kbopt

#endif // KBOPT_PIPELINE_PIPELINESTEP_H
