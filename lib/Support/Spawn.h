//===- Spawn.h - Starting a child with pipes, limits and walls --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what Process.cpp and ChildProcess.cpp share: fork and exec of a request
// with three pipes.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SUPPORT_SPAWN_H
#define KBOPT_LIB_SUPPORT_SPAWN_H

#include "kb-opt/Support/Process.h"
#include <sys/types.h>

namespace kbopt {

/// A pipe whose ends close themselves.
struct Pipe {
  int readEnd = -1, writeEnd = -1;
  Pipe() = default;
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;
  ~Pipe();
  bool open();
  static void shut(int &end);
};

/// The parent's side: `in.writeEnd`, `out.readEnd`, `err.readEnd`.
struct SpawnedChild {
  pid_t pid = -1; ///< leads a process group of its own
  Pipe in, out, err;
};

llvm::Error spawn(const ProcessRequest &request, SpawnedChild &child);

/// Reads what is there; shuts \p end at end of file. Text beyond \p limit is
/// dropped, so that a child that writes without end fills no memory.
void drain(int &end, std::string &into, uint64_t limit);

/// Exit status or signal of \p waitStatus, as `wait` gives it.
void readWaitStatus(const ProcessRequest &request, int waitStatus, ProcessResult &result);

} // namespace kbopt

#endif // KBOPT_LIB_SUPPORT_SPAWN_H
