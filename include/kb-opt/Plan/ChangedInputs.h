//===- ChangedInputs.h - Recorded inputs with single changes ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns changes of what a plan uploads that are data: they are searched for, one after the other,
// and described to people.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_CHANGEDINPUTS_H
#define KBOPT_PLAN_CHANGEDINPUTS_H

#include "kb-opt/Plan/PlanTransform.h"

namespace kbopt {

/// A change of some elements of one upload.
struct InputChange {
  enum class Kind : uint8_t {
    Set,     ///< they become `value`
    Replace, ///< those that are `other` become `value`
    Add,     ///< `value` is added
    CountUp, ///< they become `value`, `value` + `other`, `value` + 2 `other`, …
    Ascend,  ///< they are sorted
    Descend  ///< likewise, the largest first
  };
  unsigned upload = 0; ///< its number, from 0
  Kind kind = Kind::Set;
  double value = 0, other = 0;
  uint64_t every = 1;  ///< only each element whose number is a multiple of it; 0: the first alone
  uint64_t period = 0; ///< of CountUp: it begins again after so many; 0: never
};
/// As "upload 1 all 255, upload 2 with 1 in the place of 0": uploads count from 1.
std::string describe(llvm::ArrayRef<InputChange> changes);

/// An upload of numbers.
struct ChangeableUpload {
  unsigned number = 0;
  kbrt::ElementType element = kbrt::ElementType::Unknown;
  uint64_t count = 0;
  double first = 0; ///< value of the first element
};
/// The uploads of \p plan that consist of integers or floating-point numbers alone; of those that
/// share their bytes the first. Fails if the plan reaches beyond \p data.
llvm::Expected<std::vector<ChangeableUpload>> changeableUploads(const kbrt::Plan &plan,
                                                                llvm::StringRef data);

/// \p data of \p plan with \p changes, one after the other, into \p out, which is as large and all
/// written. Integers keep the lowest bits of what they become. Changes of other uploads than
/// `changeableUploads` do nothing. Fails if the plan reaches beyond \p data.
llvm::Expected<VariedUploads> changeInputs(const kbrt::Plan &plan, llvm::StringRef data,
                                           llvm::MutableArrayRef<uint8_t> out,
                                           llvm::ArrayRef<InputChange> changes);

/// The finite number of \p element next to \p value, in the direction of \p up.
double nextNumber(double value, kbrt::ElementType element, bool up);
/// The lowest and the largest number of \p element.
std::pair<double, double> rangeOf(kbrt::ElementType element);

} // namespace kbopt

#endif // KBOPT_PLAN_CHANGEDINPUTS_H
