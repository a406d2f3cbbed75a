//===- OwnFolders.h - Folders that a program takes for its own --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a sandboxed program sees in the place of its working directory and
// of /tmp, where it may write as it likes, and what it has written there.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_PLAN_OWNFOLDERS_H
#define KBOPT_LIB_PLAN_OWNFOLDERS_H

#include "kb-opt/Support/Process.h"
#include <map>
#include <string>

namespace kbopt {

class OwnFolders {
public:
  /// Makes them in \p base, which need not exist, for a program that starts in \p workingDirectory.
  /// What lies there is copied where it is small, and else seen read-only; a working directory with
  /// too much in it stays as it is.
  OwnFolders(std::string base, std::string workingDirectory);
  /// Removes them with all that is in them.
  ~OwnFolders();

  void addTo(Sandbox &sandbox) const;
  /// Puts other numbers in the place of those in the copies of small files, but for sources:
  /// decimal fractions of texts, and float32 where a whole file can be taken for them. The same for
  /// the same
  /// \p seed. Counts of a text, and all else that a program may rely on, stay.
  void varyNumbers(uint64_t seed) const;
  /// The regular files that the program wrote or changed, by name from its working directory, or
  /// from the root where they lie in the folder for temporary files.
  std::map<std::string, std::string> written() const;

private:
  void collect(const std::string &folder, const std::string &shown, const std::string &original,
               std::map<std::string, std::string> &files, unsigned depth) const;
  /// False if the working directory stays as it is.
  bool copyEntries();
  /// Notes what the copies of files hold: other processes may change the working directory
  /// itself while the program runs.
  void noteCopies();
  /// What may still be copied.
  struct Room {
    uint64_t bytes;
    size_t entries;
  };
  /// Copies \p folder to \p copy, which is there, and takes it off \p room; large files and folders
  /// with too much in them become standins. False if \p folder has too many entries itself.
  bool copyFolder(const std::string &folder, const std::string &copy, Room &room);

  std::string base, workingDirectory;
  std::vector<Sandbox::Standin> standins; ///< of what was not copied
  bool hasOwn = false;                    ///< a working directory
  std::map<std::string, uint64_t> copies; ///< hashes of the copied files, by path
};

} // namespace kbopt

#endif // KBOPT_LIB_PLAN_OWNFOLDERS_H
