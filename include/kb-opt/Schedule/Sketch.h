//===- Sketch.h - One way to schedule a class of kernels --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface of a sketch: which nests it fits, which schedules are worth trying,
// and the CUDA text of a scheduled nest. Works on kb.nest alone; no Clang.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCHEDULE_SKETCH_H
#define KBOPT_SCHEDULE_SKETCH_H

#include "kb-opt/IR/Kb.h"
#include "kb-opt/Schedule/GeneratedKernel.h"
#include "kb-opt/Target/ChipInfo.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace kbopt {

/// What is known of a launch when schedules are ranked: values of the nest's symbols and of
/// bdim and gdim ("gdim.x"), by name. Empty where nothing is known. Never used for legality.
using LaunchSizes = llvm::StringMap<int64_t>;

/// The value of \p expr for \p sizes where it does not depend on dimensions.
std::optional<int64_t> valueAt(kb::ExprAttr expr, const LaunchSizes &sizes);

/// What a rewrite may do to floating-point results.
struct Freedom {
  bool reassociate = true;
  bool lowerPrecision = false;
};

/// The schedule of a nest: the `schedule` dictionary of kb.nest with typed access.
class Schedule {
public:
  Schedule() = default;
  explicit Schedule(mlir::DictionaryAttr attribute);
  explicit Schedule(llvm::StringRef sketch) { set("sketch", sketch); }

  llvm::StringRef sketch() const { return string("sketch"); }
  /// 0 and "" where the key is not there.
  int64_t integer(llvm::StringRef key, int64_t otherwise = 0) const;
  llvm::StringRef string(llvm::StringRef key) const;
  Schedule &set(llvm::StringRef key, int64_t value);
  Schedule &set(llvm::StringRef key, llvm::StringRef value);
  bool has(llvm::StringRef key) const { return values.count(key.str()); }
  const std::map<std::string, std::string> &all() const { return values; }
  mlir::DictionaryAttr attribute(mlir::MLIRContext *context) const;
  bool operator==(const Schedule &) const = default;

private:
  std::map<std::string, std::string> values;
};

/// Stateless.
class Sketch {
public:
  virtual ~Sketch();
  /// `rows`, `map`, `columns`, `contraction`, `reuse`, `scan`, `scatter`, `stencil`, `transpose`:
  /// the value of the key "sketch".
  virtual llvm::StringRef name() const = 0;
  /// Empty if \p nest is of the sketch's class; otherwise why not, in the user's words.
  virtual std::string whyNot(kb::NestOp nest) const = 0;
  /// Schedules that are worth trying, most promising first; at most 24. Every key has
  /// a value. Prunes by the chip's registers, shared memory and waves.
  virtual std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip,
                                          const LaunchSizes &sizes,
                                          const Freedom &freedom) const = 0;
  /// Whether \p nest, of the class, has a schedule here that is better than others whatever the
  /// sizes and the data.
  virtual bool isSurelyBetter(kb::NestOp nest) const { return false; }
  /// The schedule of a second kernel for launches where that of \p schedule cannot run (a row that
  /// is too long): where the key `otherwise` asks for one. Nothing if there is no better one than
  /// the original.
  virtual std::optional<Schedule> otherwise(kb::NestOp nest, const ChipInfo &chip,
                                            const Schedule &schedule) const;
  /// The kernel that computes \p nest as its `schedule` says, under the name \p name. An error is a
  /// reason in the user's words (a tile that does not fit, a key without a meaning here).
  virtual llvm::Expected<GeneratedKernel> print(kb::NestOp nest, llvm::StringRef name,
                                                const ChipInfo &chip) const = 0;
};

/// Every sketch, in the order in which they are tried.
llvm::ArrayRef<const Sketch *> sketches();
/// Null if there is none of that name.
const Sketch *findSketch(llvm::StringRef name);

/// Whether a scalar of \p body loads from an array that \p over, the last loop in it, stores to.
/// Then iterations cannot be points of their own, each of which would load it anew: another one may
/// have stored there already.
bool loadsWhatIsStored(mlir::Block &body, kb::OverOp over);

} // namespace kbopt

#endif // KBOPT_SCHEDULE_SKETCH_H
