//===- Collect.h - Where findings come from ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the two sources of findings as the collector sees them.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_FINDINGS_COLLECT_H
#define KBOPT_LIB_FINDINGS_COLLECT_H

#include "kb-opt/Findings/Finding.h"
#include "kb-opt/Rewrite/PassContext.h"
#include "kb-opt/Rewrite/PassRegistry.h"

namespace kbopt {

/// A finding of \p rule at \p range; nothing where that is not text of the main file.
std::optional<ProgramFinding> findingAt(const PassContext &context, llvm::StringRef rule,
                                        const KernelView &kernel, clang::SourceRange range);
/// Strides, bank conflicts, races and launches of one thread.
void addAnalysisFindings(const PassContext &context, const KernelView &kernel,
                         std::vector<ProgramFinding> &findings);
/// Sites at which a pass that is a rule's applies.
void addPassFindings(const PassContext &context, const PassRegistry &registry,
                     std::vector<ProgramFinding> &findings);

} // namespace kbopt

#endif // KBOPT_LIB_FINDINGS_COLLECT_H
