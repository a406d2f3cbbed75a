//===- FileNotes.h - Files that a program looks at ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of what a recorded program read of this machine's files, by which
// kb-opt tells whether the recording still holds.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_FILENOTES_H
#define KBRT_RECORD_FILENOTES_H

#include <set>
#include <string>

namespace kbrt {

struct FileNotes {
  /// Absolute paths of files and folders that the program opened, or whose state it asked for, and
  /// of the libraries that it has loaded. Not what lies in /proc, /sys and /dev but for /dev/shm,
  /// and not what the driver of a GPU opens.
  std::set<std::string> paths;
  /// False where another process may have read more: one that the program started; or where there
  /// are more paths than are counted.
  bool isComplete = true;
};

/// Those up to now. Thread-safe.
FileNotes fileNotes();

} // namespace kbrt

#endif // KBRT_RECORD_FILENOTES_H
