//===- Prover.h - Proofs beside a search -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the one proof that runs while candidates are screened: first the original's own gates, then
// those of one leader after the other. What is proven next is decided by the explorer.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_POLICY_PROVER_H
#define KBOPT_LIB_POLICY_PROVER_H

#include "kb-opt/Policy/Environment.h"
#include <future>

namespace kbopt {

/// Not thread-safe; starts a thread for each proof.
class Prover {
public:
  explicit Prover(Environment &environment) : environment(environment) {}
  /// Waits for the proof that runs: its environment would be gone.
  ~Prover() {
    if (running.valid())
      drop(running.get());
  }

  /// Begins to judge the original, or to confirm \p node. Nothing may run.
  void begin(const NodeId &node, bool isOriginal) {
    at = node;
    running = std::async(std::launch::async, [this, node, isOriginal] {
      return isOriginal ? environment.judge(node) : environment.confirm(node);
    });
  }
  bool isRunning() const { return running.valid(); }
  /// Whether `take` would not wait.
  bool isDone() const {
    return isRunning() && running.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// Whether the answer is there after \p time at most; something must run.
  bool waitFor(std::chrono::milliseconds time) const {
    return running.wait_for(time) == std::future_status::ready;
  }
  /// What is being proven.
  const NodeId &node() const { return at; }
  /// The answer, once it is there; something must run.
  llvm::Expected<NodeJudgement> take() { return running.get(); }

private:
  static void drop(llvm::Expected<NodeJudgement> answer) {
    if (!answer)
      llvm::consumeError(answer.takeError());
  }

  Environment &environment;
  NodeId at;
  std::future<llvm::Expected<NodeJudgement>> running;
};

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_PROVER_H
