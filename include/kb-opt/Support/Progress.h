//===- Progress.h - The terminal line ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns progress on stderr: one line that redraws on a terminal, plain lines
// elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_PROGRESS_H
#define KBOPT_SUPPORT_PROGRESS_H

#include "llvm/Support/raw_ostream.h"
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace kbopt {

/// Thread-safe. Control characters in what is shown become visible: texts come from
/// programs, compilers and models.
class Progress {
public:
  Progress(llvm::raw_ostream &os, bool isTerminal, bool quiet = false, bool verbose = false)
      : os(os), isTerminal(isTerminal), quiet(quiet), verbose(verbose) {}
  ~Progress();
  /// What stands first in the status line from now on, whatever else is shown, redrawn
  /// every second until `clear`. \p text is called from any thread; nothing elsewhere.
  void head(std::function<std::string()> text);
  /// Replaces the rest of the line on a terminal; drops the text elsewhere.
  void status(llvm::StringRef text);
  /// A line that stays, above the status line.
  void line(llvm::StringRef text);
  /// A line that stays if \p verbose was asked for, else `status`.
  void detail(llvm::StringRef text) { verbose ? line(text) : status(text); }
  /// Erases the status line and forgets its head.
  void clear();
  /// Whether there is a status line.
  bool redraws() const { return isTerminal && !quiet; }

private:
  void eraseLocked();
  void drawLocked();
  void tick();

  llvm::raw_ostream &os;
  bool isTerminal, quiet, verbose;
  std::function<std::string()> headText;
  std::string rest, shown;
  std::mutex mutex;
  std::thread ticker;
  std::condition_variable ends;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_PROGRESS_H
