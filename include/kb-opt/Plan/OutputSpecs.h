//===- OutputSpecs.h - What a plan reads back -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_PLAN_OUTPUTSPECS_H
#define KBOPT_PLAN_OUTPUTSPECS_H

#include "kbrt/Plan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt {

/// One read step of a plan.
struct OutputSpec {
  std::string name;
  kbrt::ElementType type = kbrt::ElementType::Unknown;
  uint64_t bytes = 0;
};

/// Types and sizes of the reads of the plan in \p folder. A plan that cannot be read is a
/// `StoreError`.
llvm::Expected<std::vector<OutputSpec>> outputSpecs(llvm::StringRef folder);

} // namespace kbopt

#endif // KBOPT_PLAN_OUTPUTSPECS_H
