//===- CrashReport.h - What a tool says when it crashes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the last words of a process that a signal ends: its command, the stack, and what to do with
// them. Installed once, at the start of a tool's main.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_CRASHREPORT_H
#define KBOPT_SUPPORT_CRASHREPORT_H

#include "llvm/Support/PrettyStackTrace.h"

namespace kbopt {

/// While it lives, a segmentation fault, an abort or the like prints the command line and a stack
/// trace to stderr, says where to report them, and ends the process with status 70. Handlers of
/// interrupts must be installed after it.
class CrashReport {
public:
  CrashReport(int argc, const char *const *argv);

private:
  llvm::PrettyStackTraceProgram command;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_CRASHREPORT_H
