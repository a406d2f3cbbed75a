//===- Expectation.h - What a program prints, but for times -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of a text that a program gives with what the original
// gave in several runs: what differs between these is not compared, and
// nothing else is left out.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_GATES_EXPECTATION_H
#define KBOPT_LIB_EVAL_GATES_EXPECTATION_H

#include "kb-opt/Eval/Verdict.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// Relative difference of numbers that a pass without a bitwise promise may cause in what is
/// printed or written; the numbers themselves were G6's.
inline constexpr double printedTolerance = 1e-3;

/// How near numbers that are printed must be.
enum class Closeness : uint8_t {
  Exactly,         ///< white space counts as well
  ButForRoundings, ///< 16 roundings of float32, or a few times what other roundings move
  Roughly          ///< `printedTolerance`, or ten times as large as under other roundings
};

/// The original's output, and what of it several runs agree on.
class Expectation {
public:
  /// \p runs: what the original gave, one at least.
  explicit Expectation(llvm::ArrayRef<llvm::StringRef> runs);

  /// Numbers that \p output, of the original with its operations rounded otherwise, has else: an
  /// error that is printed, or a small difference of large numbers.
  void addRerounded(llvm::StringRef output);
  /// How \p output, which is \p what, differs; nothing if it does not.
  std::optional<GateRecord> compare(llvm::StringRef output, Closeness closeness,
                                    llvm::StringRef what) const;
  /// What is not compared, for the record; empty if everything is.
  std::string omitted() const;

private:
  void addRun(llvm::StringRef output);

  std::vector<llvm::StringRef> lines;
  std::vector<std::vector<llvm::StringRef>> tokens;
  std::vector<std::vector<bool>> varies; ///< by line and token
  /// The largest magnitude of a number that another rounding moves; 0: none does.
  std::vector<std::vector<double>> moved;
  std::vector<std::vector<double>> moves; ///< and by how much it is moved at most
  bool isSame(llvm::StringRef word, size_t line, size_t token, Closeness closeness) const;
  std::vector<bool> wholeLine; ///< has another number of tokens each time
  bool lineCountVaries = false;
};

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_GATES_EXPECTATION_H
