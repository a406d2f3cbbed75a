//===- Dependencies.h - When to compile again -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of dependencies that a build system reads, and telling a lock
// that has another time from one that has another entry.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TOOLS_KBOPTCC_DEPENDENCIES_H
#define KBOPT_TOOLS_KBOPTCC_DEPENDENCIES_H

#include "Command.h"

namespace kboptcc {

/// What became of one source.
struct Replacement {
  std::string original, rewritten;
};

/// Puts originals in the place of what was compiled in the list \p file, and adds \p locks.
void mendDependencies(const std::string &file, const std::vector<Replacement> &replaced,
                      const std::vector<std::string> &locks);

/// What the object of a command was made of, kept beside it.
class Record {
public:
  /// \p entries are what the locks say of the sources.
  Record(const Command &command, const std::vector<std::string> &locks, const std::string &entries);

  /// Whether the object is as another compilation would make it, and the command runs again for the
  /// time of a lock alone: command and entries are those of the record, a lock is newer than the
  /// object, and no other dependency is. Then object and list of dependencies are made new.
  bool renew() const;
  /// After a compilation, with the list of dependencies as it is now.
  void keep() const;
  /// Before one.
  void drop() const;

private:
  const Command &command;
  const std::vector<std::string> &locks;
  std::string made; ///< command, folder and entries
  std::string file; ///< where that stands; the list of dependencies is beside it
};

} // namespace kboptcc

#endif // KBOPT_TOOLS_KBOPTCC_DEPENDENCIES_H
