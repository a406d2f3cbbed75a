//===- Interrupt.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Interrupt.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Error.h"
#include <atomic>
#include <csignal>
#include <unistd.h>

using namespace kbopt;

static volatile std::sig_atomic_t signalsSeen = 0;

/// Seconds for the end that a signal asks for; then the process ends as it is.
static constexpr unsigned mostSecondsToEnd = 60;

static void onSignal(int) {
  signalsSeen = signalsSeen + 1;
  if (signalsSeen >= 3)
    _exit(130);
  alarm(mostSecondsToEnd);
}

static void onAlarm(int) { _exit(130); }

bool kbopt::ignoresHangup() {
  struct sigaction action = {};
  sigaction(SIGHUP, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

void kbopt::installInterruptHandler(bool ignoresHangup) {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = ignoresHangup ? SIG_IGN : onSignal;
  sigaction(SIGHUP, &action, nullptr);
  action.sa_handler = onAlarm;
  sigaction(SIGALRM, &action, nullptr);
}

/// 0: never.
static std::atomic<double> workEnd = 0;

void kbopt::endWorkAt(double monotonicSeconds) { workEnd = monotonicSeconds; }

bool kbopt::isTimeUp() {
  const double end = workEnd;
  return end > 0 && realClock().monotonicSeconds() >= end;
}

bool kbopt::interrupted() { return signalsSeen > 0 || isTimeUp(); }

llvm::Error kbopt::interruption() {
  return llvm::make_error<ToolError>(signalsSeen == 0 && isTimeUp()
                                         ? "the time is up; nothing was written"
                                         : "interrupted; nothing was written",
                                     std::vector<std::string>{}, -1, "", "", ExitStatus::Budget);
}

llvm::Error kbopt::dropInterruptions(llvm::Error error) {
  return llvm::handleErrors(std::move(error), [](std::unique_ptr<KbError> kbError) {
    return kbError->status == ExitStatus::Budget ? llvm::Error::success()
                                                 : llvm::Error(std::move(kbError));
  });
}
