//===- ChildProcess.h - A child that answers questions ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns a child process that lives from question to question: a line goes in, a
// line comes out. Children that run once are Process.h's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_CHILDPROCESS_H
#define KBOPT_SUPPORT_CHILDPROCESS_H

#include "kb-opt/Support/Process.h"
#include <memory>

namespace kbopt {

/// Not thread-safe. Start, use and destroy it on one thread, which must live as long:
/// a sandbox dies with the thread that made it.
class ChildProcess {
public:
  enum class Reply {
    Line,        ///< the answer is there, without its newline
    Ended,       ///< the child is gone; `ending` says how
    Late,        ///< no answer within the limit
    TooLong,     ///< the answer is longer than allowed
    Interrupted, ///< the user wants to stop
  };

  /// Limits, sandbox, environment and folder as in ProcessRunner::run; the request's
  /// standard input and wall limit have no effect.
  static llvm::Expected<std::unique_ptr<ChildProcess>> start(const ProcessRequest &request);
  /// Kills the child with all that it started.
  ~ChildProcess();

  /// Sends \p line (a newline is added) and waits for a line of at most \p mostBytes.
  /// \p limitSeconds 0: no limit. After anything but Line the child is of no more use.
  Reply ask(llvm::StringRef line, double limitSeconds, uint64_t mostBytes, std::string &answer);

  /// How it ended, and the end of what it wrote to stderr. Kills it if it lives.
  ProcessResult ending();

private:
  ChildProcess();
  void drainErrors();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_CHILDPROCESS_H
