//===- Collect.h - Where findings come from ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the two sources of findings as the collector sees them, and what they share: places, and
// passes that are tried.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_FINDINGS_COLLECT_H
#define KBOPT_LIB_FINDINGS_COLLECT_H

#include "kb-opt/Findings/Finding.h"
#include "kb-opt/Rewrite/PassContext.h"
#include "kb-opt/Rewrite/PassRegistry.h"
#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

/// A finding of \p rule at \p range; nothing where that is not text of the main file.
std::optional<ProgramFinding> findingAt(const PassContext &context, llvm::StringRef rule,
                                        const KernelView &kernel, clang::SourceRange range);
/// \p range as a place without line and column; nothing where it is not text of the main file.
std::optional<FindingPlace> placeOf(const PassContext &context, clang::SourceRange range);
/// Whether an edit of \p edits changes text at \p place.
bool touches(const Edits &edits, const FindingPlace &place);

/// A site where a pass applies, and what it makes of it.
struct AppliedSite {
  Site site;
  Rewrite rewrite;
};

/// The passes of the rules at the kernels of one program. Each is asked once.
class PassTrials {
public:
  PassTrials(const PassContext &context, const PassRegistry &registry)
      : context(context), registry(registry) {}

  /// Where \p pass applies in \p kernel, with its usual options. Empty for a pass that is not
  /// there, or that the program's architecture refuses.
  llvm::ArrayRef<AppliedSite> at(llvm::StringRef pass, const KernelView &kernel);
  /// Whether \p pass is one for a model, which could be asked in \p kernel.
  bool isAskable(llvm::StringRef pass, const KernelView &kernel) const;
  /// Gives \p finding the pass with its \p rewrite.
  void setPass(ProgramFinding &finding, llvm::StringRef pass, const Rewrite &rewrite) const;

private:
  const PassContext &context;
  const PassRegistry &registry;
  std::map<std::pair<std::string, const KernelView *>, std::vector<AppliedSite>> applied;
};

/// Gives \p finding of \p access the first pass of its rule that applies in \p kernel and mends it,
/// if there is one.
void tryPasses(const PassContext &context, const KernelView &kernel, PassTrials &trials,
               kb::AccessOp access, ProgramFinding &finding);

/// Adds the scalar arguments to which all launches of \p kernel give one constant.
void addArgumentValues(const PassContext &context, kb::KernelOp kernel, LaunchValues &values);

/// Whether the threads of a block can meet at \p atomic: more than one gets there, and they do not
/// each have an element of their own.
bool threadsMeet(kb::AccessOp atomic);

/// Strides, bank conflicts, contended atomics, races and launches of one thread.
void addAnalysisFindings(const PassContext &context, const KernelView &kernel, PassTrials &trials,
                         std::vector<ProgramFinding> &findings);
/// Stores by which several threads of a block give one element the same value.
void addBenignRaces(const PassContext &context, const KernelView &kernel,
                    std::vector<ProgramFinding> &findings);
/// Sites of \p kernel at which a pass that is a rule's applies.
void addPassFindings(const PassContext &context, const KernelView &kernel, PassTrials &trials,
                     std::vector<ProgramFinding> &findings);

/// The bytes of the main file where the optimised device code of a kernel has operations of one
/// kind.
class CodeOffsets {
public:
  CodeOffsets(const PassContext &context, const KernelView &kernel,
              std::vector<CodePlace> OptimisedCode::*places);
  bool isIn(unsigned begin, unsigned end) const;

private:
  std::vector<unsigned> offsets; ///< sorted
};

/// The expressions of \p kernel that compute in double precision because of literals that
/// \p rewrite makes float, in source order: those of which the optimised device code has double
/// arithmetic.
std::vector<FindingPlace> doubleExpressions(const PassContext &context, const KernelView &kernel,
                                            const Rewrite &rewrite);

} // namespace kbopt

#endif // KBOPT_LIB_FINDINGS_COLLECT_H
