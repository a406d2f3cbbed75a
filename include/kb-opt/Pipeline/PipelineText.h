//===- Step.h - One element of a textual pipeline ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns parsing what `-passes=` is given to steps, which print as they are parsed
// (Core/Step.h). The syntax is MLIR's (docs/Pipeline.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PIPELINE_PIPELINETEXT_H
#define KBOPT_PIPELINE_PIPELINETEXT_H

#include "kb-opt/Core/Step.h"
#include "kb-opt/Rewrite/PassRegistry.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt {

/// Parses \p text with MLIR's pipeline parser. Aliases are replaced by names.
/// Errors are `UsageError`s that show the text with a caret under the place;
/// for a misspelt pass or option the note suggests the nearest name. An empty
/// pipeline is an error. Not thread-safe in its first call (it registers the
/// passes with MLIR, whose registry is process-wide).
llvm::Expected<std::vector<Step>> parsePipeline(llvm::StringRef text, const PassRegistry &registry);

} // namespace kbopt

#endif // KBOPT_PIPELINE_PIPELINETEXT_H
