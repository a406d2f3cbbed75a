//===- ReplyStore.cpp - Reply files by their digest ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Assisted/ReplyStore.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;

bool kbopt::isReplyName(StringRef text) {
  return text.size() == 32 &&
         llvm::all_of(text, [](char c) { return llvm::isHexDigit(c) && !llvm::isUpper(c); });
}

llvm::Expected<Digest> ReplyStore::put(const AssistedReply &reply) {
  std::string bytes = printReply(reply);
  Digest digest = digestOf(bytes);
  if (folder.empty())
    return llvm::make_error<StoreError>("there is no folder for the reply " + digest,
                                        "name one with --replies=DIR");
  std::string path = folder + "/" + digest + ".json";
  if (files.exists(path))
    return digest;
  if (llvm::Error error = files.createDirectories(folder))
    return std::move(error);
  if (llvm::Error error = files.write(path, bytes))
    return std::move(error);
  return digest;
}

llvm::Expected<AssistedReply> ReplyStore::get(StringRef digest) const {
  // It becomes part of a path.
  if (!isReplyName(digest))
    return llvm::make_error<UsageError>("'" + digest.str() + "' is no name of a reply",
                                        "a reply is named by 32 hexadecimal digits");
  std::string path = folder + "/" + digest.str() + ".json";
  if (folder.empty() || !files.exists(path))
    return llvm::make_error<UsageError>(
        "there is no reply " + digest.str() + (folder.empty() ? "" : " in '" + folder + "'"),
        "name the folder that has '" + digest.str() + ".json' with --replies=DIR");
  llvm::Expected<std::string> bytes = files.read(path);
  if (!bytes)
    return bytes.takeError();
  if (bytes->size() > ReplyLimits::fileBytes || digestOf(*bytes) != digest)
    return llvm::make_error<StoreError>("the reply '" + path +
                                            "' was changed: its content has another name",
                                        "restore the file; a changed reply is a new one");
  llvm::Expected<AssistedReply> reply = parseReply(*bytes);
  if (!reply)
    return llvm::make_error<StoreError>("the reply '" + path +
                                        "' cannot be read: " + llvm::toString(reply.takeError()));
  return reply;
}
