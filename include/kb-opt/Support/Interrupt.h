//===- Interrupt.h - Ctrl-C ---------------------------------------*- C++ -*-===//
#ifndef KBOPT_SUPPORT_INTERRUPT_H
#define KBOPT_SUPPORT_INTERRUPT_H

namespace kbopt {

/// From here on SIGINT and SIGTERM set a flag, so that a run can end with its
/// best result so far; the third one ends the process at once.
void installInterruptHandler();
bool interrupted();

} // namespace kbopt

#endif // KBOPT_SUPPORT_INTERRUPT_H
