//===- JudgeRewrite.h - The judge on one text -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_DRIVER_JUDGEREWRITE_H
#define KBOPT_LIB_DRIVER_JUDGEREWRITE_H

#include "Session.h"

namespace kbopt {

/// The device code of \p text on disk as \p name, and what its host side is, as a candidate of \p
/// session; in \p breaches the rules that it does not keep.
llvm::Expected<ProgramArtefacts> compileCandidate(Session &session, const std::string &text,
                                                  const std::string &name,
                                                  std::vector<std::string> &breaches);

/// Every gate on \p text, which passes made, as a rewrite of \p session's program; \p artefacts
/// receives the compiled candidate, if it compiles.
llvm::Expected<Verdict> judgeRewrite(Session &session, const std::string &text,
                                     CandidatePromise promise, ProgramArtefacts &artefacts);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_JUDGEREWRITE_H
