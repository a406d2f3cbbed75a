//===- Progress.h - The terminal line ----------------------------*- C++ -*-===//
//
// Owns progress on stderr: one line that redraws on a terminal, plain lines
// elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_PROGRESS_H
#define KBOPT_SUPPORT_PROGRESS_H

#include "llvm/Support/raw_ostream.h"
#include <mutex>
#include <string>

namespace kbopt {

/// Thread-safe.
class Progress {
public:
  Progress(llvm::raw_ostream &os, bool isTerminal, bool quiet = false)
      : os(os), isTerminal(isTerminal), quiet(quiet) {}
  ~Progress();
  /// Replaces the line on a terminal; drops the text elsewhere.
  void status(llvm::StringRef text);
  /// A line that stays.
  void line(llvm::StringRef text);
  /// Erases the status line.
  void clear();

private:
  void clearLocked();
  llvm::raw_ostream &os;
  bool isTerminal, quiet;
  std::string shown;
  std::mutex mutex;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_PROGRESS_H
