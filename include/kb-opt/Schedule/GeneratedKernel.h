//===- GeneratedKernel.h - A scheduled nest as CUDA text --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a sketch's printer makes of a kb.nest with a schedule: the text of the new
// kernel, how it is launched, and under which conditions. Plain data.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCHEDULE_GENERATEDKERNEL_H
#define KBOPT_SCHEDULE_GENERATEDKERNEL_H

#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// Something that only the launch knows and that the new kernel needs.
struct LaunchCondition {
  enum Kind {
    Expression, ///< `text` is a C++ condition over the kernel's parameters
    Aligned,    ///< pointer parameter `text` is a multiple of `bytes`
    Disjoint    ///< the memory of pointer parameters `text` and `other` does not overlap
  } kind = Expression;
  std::string text, other;
  unsigned bytes = 0;
  bool operator==(const LaunchCondition &) const = default;
};

/// C++ text. Expressions are over the names of the kernel's parameters, and over
/// `gridDim.x` … `blockDim.z` for the values of the launch that is replaced; the code that writes
/// the launch substitutes the launch's own expressions.
struct GeneratedKernel {
  std::string name;
  /// Helpers, if any, and the kernel with a comment of at most three lines that says
  /// why it is faster; then those of `then`, in their order. Its parameters are those of the raised
  /// kernel, in their order and under their names, then `memory`, then `extraParameters`.
  std::string definition;
  /// Functions in `definition` that other kernels may have, too, under other names.
  struct Helper {
    std::string name, text;
  };
  std::vector<Helper> helpers;
  /// Declaration ("int rows") and the expression that the launch passes.
  std::vector<std::pair<std::string, std::string>> extraParameters;
  std::string gridX, gridY = "1", gridZ = "1";
  std::string blockX, blockY = "1", blockZ = "1";
  std::string dynamicSharedBytes; ///< empty: none
  /// What each of the kernels takes right after the parameters of the raised one: a pointer to that
  /// many elements, which the launch allocates, apart from all other memory and aligned as
  /// allocations are, and frees after the last of them.
  struct Memory {
    std::string parameter;  ///< its name
    std::string type;       ///< of an element
    std::string count;      ///< of elements, an expression
    bool isCleared = false; ///< all bytes are 0 before the first kernel
  };
  std::optional<Memory> memory = std::nullopt;
  /// A further kernel that `definition` defines, launched with the same arguments.
  struct Launch {
    std::string name, gridX, blockX;
  };
  std::vector<Launch> then; ///< right after it, in this order
  std::vector<LaunchCondition> conditions;
  /// C++ conditions under which it is worth launching where another kernel of the same schedule
  /// could run, too.
  std::vector<std::string> preferences;
  /// Sums are formed in another order than in the given kernel.
  bool reassociates = false;
  /// Some operation is done in fewer bits.
  bool lowersPrecision = false;
  /// Of one thread and block, for pruning; 0: unknown.
  unsigned estimatedRegisters = 0, sharedBytes = 0, threads = 0;
};

} // namespace kbopt

#endif // KBOPT_SCHEDULE_GENERATEDKERNEL_H
