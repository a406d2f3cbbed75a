//===- Signals.h - faults and the time limit --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the signal handlers that are installed while device code runs, and the
// timer of the wall limit.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_SIGNALS_H
#define KBRT_SIGNALS_H

namespace kbrt {

/// Installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and the timer for its lifetime, with an
/// alternate stack. A fault in device code ends the launch through Machine::wayOut; any other goes
/// to the handler that was there before.
class SignalScope {
public:
  /// \p wallSeconds 0 is no limit.
  explicit SignalScope(double wallSeconds);
  ~SignalScope();
  SignalScope(const SignalScope &) = delete;
  SignalScope &operator=(const SignalScope &) = delete;

private:
  bool hasTimer = false;
};

} // namespace kbrt
#endif
