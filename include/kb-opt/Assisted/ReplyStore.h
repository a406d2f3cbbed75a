//===- ReplyStore.h - Reply files by their digest ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the folder of reply files: `<digest>.json`, named by the digest of its
// bytes, so that a pipeline that names a reply means one text for ever.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ASSISTED_REPLYSTORE_H
#define KBOPT_ASSISTED_REPLYSTORE_H

#include "kb-opt/Assisted/AssistedReply.h"

namespace kbopt {

class FileSystem;

/// Whether \p text can name a reply: 32 hexadecimal digits, lower case.
bool isReplyName(llvm::StringRef text);

/// Thread-safe, as files are. Keeps nothing in memory.
class ReplyStore {
public:
  /// \p folder need not exist; an empty one holds nothing and takes nothing.
  ReplyStore(std::string folder, FileSystem &files) : folder(std::move(folder)), files(files) {}

  /// Writes \p reply unless it is there, and returns its name. Errors are `StoreError`s.
  llvm::Expected<Digest> put(const AssistedReply &reply);
  /// The reply of that name. A `UsageError` if \p digest is none or there is no such file; a
  /// `StoreError` if the file was changed, is too large or cannot be read.
  llvm::Expected<AssistedReply> get(llvm::StringRef digest) const;

private:
  std::string folder;
  FileSystem &files;
};

} // namespace kbopt

#endif // KBOPT_ASSISTED_REPLYSTORE_H
