//===- FileDigests.h - Digests of files that are asked for often -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_SUPPORT_FILEDIGESTS_H
#define KBOPT_SUPPORT_FILEDIGESTS_H

#include "kb-opt/Support/Digest.h"
#include "llvm/Support/Error.h"
#include <map>
#include <mutex>
#include <string>

namespace kbopt {

/// Digests of the bytes on disk. A file of more than 64 MiB is read again only if the file
/// system says that it was written to or is another file. Thread-safe.
class FileDigests {
public:
  llvm::Expected<Digest> get(const std::string &path);

private:
  std::mutex mutex;
  std::map<std::string, Digest> large; ///< by stamp: a file has one under all its names
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_FILEDIGESTS_H
