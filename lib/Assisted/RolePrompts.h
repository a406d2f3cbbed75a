//===- RolePrompts.h - What each role is told of its work -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the constant part of the prompts.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_ASSISTED_ROLEPROMPTS_H
#define KBOPT_LIB_REWRITE_ASSISTED_ROLEPROMPTS_H

#include "llvm/ADT/StringRef.h"

namespace kbopt {

/// The system texts, without what all roles share.
extern const llvm::StringLiteral composeDuty, plannerDuty, coderDuty, debuggerDuty, verifierDuty,
    generalizerDuty, minimalDuty;
/// What every role is told: what is data, and in what form to answer.
extern const llvm::StringLiteral sharedDuty;

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_ASSISTED_ROLEPROMPTS_H
