//===- Interrupt.h - Ctrl-C and the end of the time ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the wish of the user to stop, now or at a time named before, and the error that
// work ends with for it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_INTERRUPT_H
#define KBOPT_SUPPORT_INTERRUPT_H

#include "llvm/Support/Error.h"

namespace kbopt {

/// Whether the process was started to outlive its terminal, as by nohup.
bool ignoresHangup();
/// From here on SIGINT, SIGTERM and SIGHUP set a flag, so that a run can end with
/// its best result so far; the third one, or a minute, ends the process at once.
/// With \p ignoresHangup SIGHUP is ignored.
void installInterruptHandler(bool ignoresHangup = false);
/// Whether a signal came or the time is up: all work ends as soon as it can.
bool interrupted();

/// From \p monotonicSeconds of the real clock on, work is given up as after a signal.
void endWorkAt(double monotonicSeconds);
/// Whether that moment has passed.
bool isTimeUp();

/// The error of work that was given up for an interrupt: a `ToolError` with the
/// exit status `Budget`, which stands for no fault.
llvm::Error interruption();
/// \p error without interruptions.
llvm::Error dropInterruptions(llvm::Error error);

} // namespace kbopt

#endif // KBOPT_SUPPORT_INTERRUPT_H
