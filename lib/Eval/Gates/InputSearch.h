//===- InputSearch.h - Inputs that lead to code without a case --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the search for changes of the recorded inputs with which a candidate executes a place that
// no case came to: its runs and its budget.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_GATES_INPUTSEARCH_H
#define KBOPT_LIB_EVAL_GATES_INPUTSEARCH_H

#include "../JudgeImpl.h"
#include "InputProposals.h"

namespace kbopt {

class InputSearch {
public:
  explicit InputSearch(GateContext &context) : context(context) {}

  using LeadsThere = llvm::function_ref<bool(const kbrt::Coverage &)>;
  /// Cases to which the original consents, and which lead to \p place, as \p leadsThere says of
  /// what is executed: one that is found, and others in which what leads there stands at other
  /// places. Further ones where it is asked for the same place again; none if none are found.
  llvm::Expected<std::vector<TestCase>> find(const kbrt::SourcePosition &place,
                                             LeadsThere leadsThere);
  /// How many inputs were run, and whether some led there that the original does not allow.
  unsigned tried() const { return runs; }
  bool wasRefused() const { return refused > 0; }

private:
  llvm::Error begin(const kbrt::SourcePosition &place);
  /// The run with \p changes; null where it did not end well.
  llvm::Expected<RunPointer> run(llvm::ArrayRef<InputChange> changes);
  bool hasBudget() const;
  llvm::Expected<bool> leads(llvm::ArrayRef<InputChange> changes, LeadsThere leadsThere);
  /// Halves what \p changes count up, over and over, as long as they lead there.
  llvm::Expected<std::vector<InputChange>> narrowed(std::vector<InputChange> changes,
                                                    LeadsThere leadsThere);
  llvm::Expected<std::vector<TestCase>> casesOf(const std::vector<InputChange> &found,
                                                LeadsThere leadsThere);

  GateContext &context;
  std::optional<std::vector<ChangeableUpload>> uploads; ///< empty before they are known
  std::optional<kbrt::SourcePosition> current;
  std::optional<InputProposals> proposals; ///< for it
  std::optional<kbrt::NearPlace> nearest;  ///< that a run came to it
  unsigned runs = 0, found = 0, refused = 0;
  double seconds = 0; ///< that runs took
};

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_GATES_INPUTSEARCH_H
