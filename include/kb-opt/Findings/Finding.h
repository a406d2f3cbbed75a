//===- Finding.h - What the compiler knows against a program ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record of one finding, the table of rules, and collecting the findings
// of a program. Printing them is Printers.h's business.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_FINDINGS_FINDING_H
#define KBOPT_FINDINGS_FINDING_H

#include "kb-opt/Core/PassInfo.h"
#include <vector>

namespace kbopt {

class PassContext;
class PassRegistry;

/// One thing that findings can say. The id is stable: suppressions, dashboards and SARIF refer to
/// it.
struct FindingRule {
  llvm::StringRef id;
  llvm::StringRef title; ///< a sentence without its full stop
  llvm::StringRef pass;  ///< that mends it; empty where there is none
  llvm::StringRef
      message; ///< of a finding that the pass itself makes; empty where an analysis words it
  /// What an edit of the pass must write for the finding to be true; empty: anything.
  llvm::StringRef mustWrite = "";
};

/// Every rule, in the order in which they are documented.
llvm::ArrayRef<FindingRule> findingRules();
/// Null if there is none of that id.
const FindingRule *findingRule(llvm::StringRef id);

/// Replaces `length` bytes of the main file at `offset`.
struct FindingReplacement {
  unsigned offset = 0, length = 0;
  std::string text;
};

/// What a finding rests on.
enum class FindingProof {
  Proven,    ///< the analysis holds for every run
  Estimated, ///< sizes that only the run knows were taken to be large
};

/// One finding in the main file. A plain value.
struct ProgramFinding {
  std::string rule; ///< of `findingRules()`
  std::string kernel;
  unsigned begin = 0, end = 0;   ///< bytes of the main file
  unsigned line = 0, column = 0; ///< of begin, from 1
  unsigned kernelLine = 0;       ///< of the kernel's name, from 1; 0 if it lies in another file
  std::string message;           ///< lower case, no full stop, names the user's object
  std::string summary;           ///< what the pass did when it was tried; empty if it was not
  std::vector<FindingReplacement> replacements; ///< of the pass
  Promise promise = Promise::Bitwise;           ///< of the replacements
  FindingProof proof = FindingProof::Proven;
  /// The same for a finding whose line has moved; differs between findings of one file.
  std::string fingerprint;

  /// The pipeline that mends it; empty where no pass does.
  std::string pipeline() const;
};

/// The findings in the main file of \p context's program, by place. Left out is what a NOKBOPT
/// comment names, by rule or pass, at the finding, at its kernel's name or at a line that its
/// replacements change.
std::vector<ProgramFinding> collectFindings(const PassContext &context,
                                            const PassRegistry &registry);

} // namespace kbopt

#endif // KBOPT_FINDINGS_FINDING_H
