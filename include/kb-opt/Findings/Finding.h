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
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <map>
#include <tuple>
#include <vector>

namespace kbopt {

class ParsedProgram;
class PassContext;
class PassRegistry;

/// One thing that findings can say. The id is stable: suppressions, dashboards and SARIF refer to
/// it.
struct FindingRule {
  llvm::StringRef id;
  llvm::StringRef title; ///< a sentence without its full stop
  /// Those that may mend it, in the order in which they are tried, those for a model last; empty
  /// where there is none.
  std::array<llvm::StringRef, 4> passes;
  /// Of a finding that the first pass itself makes; empty where an analysis words it.
  llvm::StringRef message;
  /// What an edit of the pass must write for the finding to be true; empty: anything.
  llvm::StringRef mustWrite = "";
  /// Text that what the pass writes must not have: the finding is not worth it then.
  llvm::StringRef mustNotWrite = "";

  bool names(llvm::StringRef pass) const {
    return !pass.empty() && llvm::is_contained(passes, pass);
  }
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

/// A range of the main file.
struct FindingPlace {
  unsigned begin = 0, end = 0;   ///< bytes
  unsigned line = 0, column = 0; ///< of begin, from 1
  bool operator<(const FindingPlace &other) const {
    return std::tie(begin, end) < std::tie(other.begin, other.end);
  }
  bool operator==(const FindingPlace &other) const {
    return begin == other.begin && end == other.end;
  }
};

/// One finding in the main file. A plain value.
struct ProgramFinding {
  std::string rule; ///< of `findingRules()`
  std::string kernel;
  unsigned begin = 0, end = 0;    ///< bytes of the main file
  unsigned line = 0, column = 0;  ///< of begin, from 1
  unsigned kernelLine = 0;        ///< of the kernel's name, from 1; 0 if it lies in another file
  std::string message;            ///< lower case, no full stop, names the user's object
  std::vector<FindingPlace> also; ///< other places of the same cause, in the order of the text
  std::string pass;               ///< that was tried and mends it; empty where none does
  std::string summary;            ///< what the pass did; without a pass, what the fix does
  std::string unlaunchedPass;     ///< where none does: one that would, with a launch in sight
  std::string assistedPass;       ///< else one for a model that looks at such code
  std::vector<FindingReplacement> replacements; ///< of the pass, or of the rule itself
  Promise promise = Promise::Bitwise;           ///< of the replacements
  FindingProof proof = FindingProof::Proven;
  /// The same for a finding whose line has moved; differs between findings of one file.
  std::string fingerprint;

  /// The pipeline that mends it; empty where no pass does.
  std::string pipeline() const;
};

/// What of a program was looked at for findings.
struct FindingsCoverage {
  unsigned kernels = 0;     ///< in the main file
  unsigned notExamined = 0; ///< of these, because the collection was stopped
  /// Names of the kernels that stand in the user's other files, by file.
  std::map<std::string, std::vector<std::string>> elsewhere;

  /// One sentence about the kernels that stand in other files; empty if there are none.
  std::string elsewhereWords(llvm::StringRef mainFile) const;
};

/// The coverage of \p program before anything was examined.
FindingsCoverage findingsCoverage(const ParsedProgram &program);

/// The findings in the main file of \p context's program, by place. Left out is what a NOKBOPT
/// comment names, by rule or pass, at the finding, at its kernel's name or at a line that its
/// replacements change. \p stop is asked before each kernel; if it says so, the findings of the
/// kernels so far are returned. \p coverage, if there, receives what was looked at.
std::vector<ProgramFinding> collectFindings(
    const PassContext &context, const PassRegistry &registry,
    llvm::function_ref<bool()> stop = [] { return false; }, FindingsCoverage *coverage = nullptr);

} // namespace kbopt

#endif // KBOPT_FINDINGS_FINDING_H
