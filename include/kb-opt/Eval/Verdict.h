//===- Verdict.h - What the judge says about a candidate --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record that each gate leaves and the verdict that follows from
// them, with their JSON form. It owns no gate and runs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_VERDICT_H
#define KBOPT_EVAL_VERDICT_H

#include "kb-opt/Core/Verdict.h"
#include "kb-opt/Eval/GpuDevice.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// Passed and failed are facts about the candidate. Undecided stops the judge
/// with an inconclusive verdict. NotRun says that the gate does not apply here
/// (for instance a GPU gate on the CPU device) and why.
enum class GateOutcome { Passed, Failed, Undecided, NotRun };

llvm::StringRef toString(GateOutcome outcome); ///< "passed", "failed", "undecided", "not run"
std::optional<GateOutcome> parseGateOutcome(llvm::StringRef text);

/// What one gate found. `reason` is one lower-case sentence; `details` are the
/// facts behind it, one per line (the first differing element, a finding with
/// kernel, thread, line and array, the compiler's message).
struct GateRecord {
  GateId gate = GateId::G0;
  GateOutcome outcome = GateOutcome::Passed;
  FailureClass failure = FailureClass::None;
  std::string reason;
  std::vector<std::string> details;
  unsigned cases = 0; ///< test cases that the gate looked at
  double seconds = 0; ///< wall time spent

  static GateRecord pass(GateId gate, std::string reason = "", unsigned cases = 0);
  static GateRecord fail(GateId gate, FailureClass failure, std::string reason,
                         std::vector<std::string> details = {});
  static GateRecord undecided(GateId gate, std::string reason,
                              std::vector<std::string> details = {});
  static GateRecord notRun(GateId gate, std::string reason);
  bool stops() const { return outcome == GateOutcome::Failed || outcome == GateOutcome::Undecided; }
};

/// The judge's answer. `gate` and `reason` are those of the record that
/// stopped the judge and absent for a correct candidate.
struct Verdict {
  VerdictKind kind = VerdictKind::Inconclusive;
  FailureClass failure = FailureClass::None;
  std::optional<GateId> gate;
  std::string reason;
  std::vector<std::string> details;
  std::vector<GateRecord> gates;
  /// Candidate against original on the recorded case, where it came so far and a GPU
  /// measured it. Only a correct candidate's may be believed.
  std::optional<TimingReport> timing;

  bool isCorrect() const { return kind == VerdictKind::Correct; }
  /// One line: "incorrect (correctness, G6): out[3] is 7, expected 8".
  std::string summary() const;
  /// Appends \p record and, if it stops the judge, takes kind and reason from it.
  void add(GateRecord record);
};

llvm::json::Value toJSON(const GateRecord &record);
llvm::json::Value toJSON(const TimingReport &report);
llvm::json::Value toJSON(const Verdict &verdict);
bool fromJSON(const llvm::json::Value &value, GateRecord &record, llvm::json::Path path);
bool fromJSON(const llvm::json::Value &value, TimingReport &report, llvm::json::Path path);
bool fromJSON(const llvm::json::Value &value, Verdict &verdict, llvm::json::Path path);

} // namespace kbopt

#endif // KBOPT_EVAL_VERDICT_H
