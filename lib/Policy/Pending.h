//===- Pending.h - A request on its way through a batch ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_POLICY_PENDING_H
#define KBOPT_LIB_POLICY_PENDING_H

#include "kb-opt/Policy/Explorer.h"
#include "kb-opt/Support/Parallel.h"

namespace kbopt {

/// A request on its way through `evaluate`.
struct Explorer::Pending {
  ExplorerRequest request;
  unsigned repair = 0; ///< as in Attempt
  Attempt failed;      ///< that is to be repaired, where `repair`
  std::optional<Proposal> proposal;
  std::string drawn;        ///< as in Attempt
  std::vector<Step> before; ///< of the request's, those that apply
  StepOutcome made;
  enum class Fate {
    NoMove,    ///< the model proposed none
    Disputed,  ///< a debugger disputes the gate, and the attempt stays as it is
    Repeat,    ///< tried at this parent before, or earlier in the batch
    Failed,    ///< not applied, or a gate before measuring
    Known,     ///< the program is a node already, or will be by `twin`
    Identical, ///< the machine code was judged already, or will be by `twin`
    Roofline,
    Outranked, ///< the cost model ranks enough others before it
    GaveWay,   ///< to replies, which take the candidates that are left
    Dropped,   ///< the budget is spent, or the user ended the search
    Judge,
  } fate = Fate::Judge;
  NodeId twin;
  bool applied = false; ///< `made` is an answer
  std::optional<NodeJudgement> judgement;

  /// Whether a model was paid for what is to be judged.
  bool isPaid() const { return proposal && !isSettled() && made.applied && !made.gate; }
  /// Whether nothing is to be applied.
  bool isSettled() const {
    return fate == Fate::NoMove || fate == Fate::Disputed || fate == Fate::Repeat ||
           fate == Fate::Dropped;
  }
};

/// Calls \p body on all of \p entries; its errors are joined in their order.
template <typename Entry, typename Body>
llvm::Error inParallel(unsigned jobs, llvm::ArrayRef<Entry *> entries, Body body) {
  std::vector<llvm::Error> errors;
  for (size_t i = 0; i != entries.size(); ++i)
    errors.push_back(llvm::Error::success());
  parallelFor(jobs, entries.size(), [&](size_t i) {
    llvm::cantFail(std::move(errors[i]));
    errors[i] = body(*entries[i]);
  });
  llvm::Error all = llvm::Error::success();
  for (llvm::Error &error : errors)
    all = llvm::joinErrors(std::move(all), std::move(error));
  return all;
}

/// Hands an answer to \p take, unless it came while the user ended the search: it
/// may be that of a process killed for it, and an error is then none of ours.
template <typename T, typename Take>
llvm::Error Explorer::keepUnlessStopped(llvm::Expected<T> answer, Take take) {
  if (stopped()) {
    if (!answer)
      llvm::consumeError(answer.takeError());
    return llvm::Error::success();
  }
  if (!answer)
    return answer.takeError();
  take(std::move(*answer));
  return llvm::Error::success();
}

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_PENDING_H
