//===- VariedTypes.h - What uploads hold that may be varied -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the types by which the values of a plan's uploads may be changed. Private
// to lib/Plan.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_PLAN_VARIEDTYPES_H
#define KBOPT_LIB_PLAN_VARIEDTYPES_H

#include "kb-opt/Plan/PlanTransform.h"
#include <map>

namespace kbopt {

inline bool isInteger(kbrt::ElementType type) {
  return type != kbrt::ElementType::Unknown && type != kbrt::ElementType::Bool &&
         !kbrt::isFloatingPoint(type);
}

/// By place in \p data, the type of the floating-point elements that are uploaded from there;
/// Unknown where there are none, or where uploads differ. Fails if the plan reaches beyond \p data.
llvm::Expected<std::map<uint64_t, kbrt::ElementType>> variedTypes(const kbrt::Plan &plan,
                                                                  llvm::StringRef data);

/// An upload of numbers that may be varied.
struct NumberUpload {
  const kbrt::UploadStep *step;
  unsigned number; ///< among all uploads of the plan
  kbrt::ElementType type;
};
/// Those of \p plan: without those of device pointers, of no known type, and of bytes that an
/// earlier one has. Fails as `variedTypes` does.
llvm::Expected<std::vector<NumberUpload>> numberUploads(const kbrt::Plan &plan,
                                                        llvm::StringRef data);

} // namespace kbopt

#endif // KBOPT_LIB_PLAN_VARIEDTYPES_H
