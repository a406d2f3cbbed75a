//===- Team.h - Threads that reduce together --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the code with which the threads of a team combine their partial results: shuffles within a
// warp, one shared array beyond. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_TEAM_H
#define KBOPT_LIB_SCHEDULE_TEAM_H

#include "CudaText.h"

namespace kbopt {

/// A power of two of neighbouring threads; beyond a warp, all threads of a block.
class Team {
public:
  Team(CudaText &text, int64_t size, llvm::StringRef kernelName)
      : text(text), size(size), kernelName(kernelName) {}

  bool isBlock() const { return size > 32; }
  /// The threads of the team, for the second argument of shuffles.
  std::string mask;
  /// A value of each thread that becomes one of the team.
  struct Value {
    kb::ReduceOp reduce;
    std::string type, variable;
  };
  /// Afterwards, every thread has the team's values in the variables of \p values. A block meets
  /// once for all of them.
  void combine(CodeLines &code, llvm::ArrayRef<Value> values);
  /// Orders accesses to memory of the team's threads.
  void barrier(CodeLines &code);
  /// The functions that `combine` calls, for the text before the kernel.
  const std::string &helpers() const { return definitions; }
  int64_t sharedBytes() const { return shared; }

private:
  CudaText &text;
  int64_t size;
  std::string kernelName, definitions, offset, other;
  int64_t shared = 0;
  std::map<std::string, std::string> known; ///< helper by types and combinations

  void shuffle(CodeLines &code, const Value &value, llvm::StringRef variable, int64_t lanes,
               llvm::StringRef mask);
  std::string helper(llvm::ArrayRef<Value> values);
};

/// Whether \p text is the neutral element of \p reduce, in any spelling.
bool isNeutral(kb::ReduceOp reduce, llvm::StringRef text);
/// Whether combining a value twice changes nothing (max, min, and, or).
bool isIdempotent(kb::ReduceOp reduce);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_TEAM_H
