//===- RecordFields.h - Uploads of records, field by field ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the plan in which the numbers of a record's fields are uploads of their own, so that
// whatever varies arrays of numbers varies them as well.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_RECORDFIELDS_H
#define KBOPT_PLAN_RECORDFIELDS_H

#include "kbrt/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

struct RecordField {
  uint64_t offset = 0; ///< bytes
  kbrt::ElementType element = kbrt::ElementType::Unknown;
};

/// What an array consists of; no bytes: of no records.
struct RecordLayout {
  uint64_t bytes = 0;
  std::vector<RecordField> fields; ///< the numbers, those in arrays and records within it each
};

/// A plan whose uploads of records are replaced by one for each field, in the order of the fields.
struct SplitPlan {
  kbrt::Plan plan;
  std::string data; ///< that of the plan that was split, and behind it the fields' numbers

  /// Puts the fields of \p varied, as large as `data`, into \p out, as large as what was split.
  void join(llvm::ArrayRef<uint8_t> varied, llvm::MutableArrayRef<uint8_t> out) const;

private:
  friend std::optional<SplitPlan> splitRecords(const kbrt::Plan &, llvm::StringRef,
                                               llvm::ArrayRef<RecordLayout>);
  struct Piece {
    uint64_t from, stride, bytes, count, to;
  };
  uint64_t originalBytes = 0;
  std::vector<Piece> pieces;
};

/// \p layouts: by buffer. Nothing where no upload is of whole records with fields. Records in which
/// device pointers lie stay whole.
std::optional<SplitPlan> splitRecords(const kbrt::Plan &plan, llvm::StringRef data,
                                      llvm::ArrayRef<RecordLayout> layouts);

} // namespace kbopt

#endif // KBOPT_PLAN_RECORDFIELDS_H
