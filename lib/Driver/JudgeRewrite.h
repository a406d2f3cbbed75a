//===- JudgeRewrite.h - The judge on one text -------------------*- C++ -*-===//
#ifndef KBOPT_LIB_DRIVER_JUDGEREWRITE_H
#define KBOPT_LIB_DRIVER_JUDGEREWRITE_H

#include "Session.h"

namespace kbopt {

/// Every gate on \p text as a rewrite of \p session's program; \p artefacts receives the compiled
/// candidate, if it compiles.
llvm::Expected<Verdict> judgeRewrite(Session &session, const std::string &text,
                                     const CandidatePromise &promise, ProgramArtefacts &artefacts);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_JUDGEREWRITE_H
