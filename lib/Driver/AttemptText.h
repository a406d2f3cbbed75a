//===- AttemptText.h - Attempts in words ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how one attempt of a search, and what was refused in all of it, is said to people.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_ATTEMPTTEXT_H
#define KBOPT_LIB_DRIVER_ATTEMPTTEXT_H

#include "kb-opt/Policy/Attempt.h"

namespace kbopt {

/// What became of \p attempt. \p source: "modelled" or "measured".
std::string outcomeText(const Attempt &attempt, llvm::StringRef source);

/// "[1] unroll-loop{factor=4 kernel=k}  correct, modelled 4.75 us, 1.57 x of the step before".
std::string attemptText(const Attempt &attempt, llvm::StringRef source);

/// "disputed: invent{…}: the debugger holds that G6 is wrong: …".
std::string disputeText(const Attempt &attempt);

/// What the result says of a search whose \p attempts gave no winner. That nothing better was found
/// is said only where candidates were right and none was refused.
std::string noWinnerText(llvm::ArrayRef<Attempt> attempts);

/// A line for each reason for which gates, or models and their rules, refused \p attempts, with the
/// first step that it was said of, and a last one for those beyond five.
std::vector<std::string> refusalLines(llvm::ArrayRef<Attempt> attempts);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_ATTEMPTTEXT_H
