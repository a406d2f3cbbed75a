//===- ScatterNest.h - A nest that combines by atomics ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the `scatter` sketch finds in a nest: its atomics, which of them meet one element, and
// how many elements there are. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_SCATTERNEST_H
#define KBOPT_LIB_SCHEDULE_SCATTERNEST_H

#include "Points.h"

namespace kbopt {

/// An atomic of each point whose result is not used.
struct Scatter {
  mutable kb::StoreOp store;
  std::string type;           ///< "int", "unsigned int", "unsigned long long", "float", "double"
  std::string operation;      ///< "Add", "Sub", "Max", "Min", "And", "Or", "Xor"
  bool isFixed = false;       ///< the element is the same for all points
  bool isNamedByData = false; ///< its address depends on what a point has loaded
  /// The element's number is below this, as far as constants show.
  std::optional<int64_t> bound;

  std::string name() const;
  int64_t bytes() const;
  bool isFloat() const { return type == "float" || type == "double"; }
  bool isBits() const { return operation == "And" || operation == "Or" || operation == "Xor"; }
  /// Whether the lanes of a warp can combine their values by one instruction.
  bool isMatchable() const { return type == "int" || type == "unsigned int"; }
  /// "add" of `__reduce_add_sync`.
  std::string reduceName() const;
  /// The value that is added for \p a and \p b together.
  std::string combined(llvm::StringRef a, llvm::StringRef b) const;
  /// Whether the element's number depends on \p dim.
  bool uses(llvm::StringRef dim) const;
  /// Whether the element stays the same where only \p dim changes.
  bool isFixedAlong(llvm::StringRef dim) const { return !isNamedByData && !uses(dim); }
};

/// A nest without loops whose points combine by atomics.
struct ScatterNest {
  Box box;
  std::vector<Scatter> all;

  explicit ScatterNest(kb::NestOp nest);
  /// Empty if \p nest is of the class; otherwise why not.
  std::string whyNot() const;
  /// The position of the dimension that lanes run along, not \p along.
  size_t lanes(llvm::StringRef along) const;
  /// Dimensions along which neighbouring points may meet one element while lanes run along others,
  /// the most promising one first.
  llvm::SmallVector<llvm::StringRef> walks() const;
  /// The number of elements, if constants show it.
  std::optional<int64_t> bound() const;
  /// How many \p count make up \p extent.
  static kb::ExprAttr chunks(kb::ExprAttr extent, int64_t count);

private:
  kb::NestOp nest;
  std::string reason;
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_SCATTERNEST_H
