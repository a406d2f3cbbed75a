//===- Mailbox.h - Questions and replies as files --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the provider `mailbox:DIR`: each request is a readable file in DIR, its
// reply a file beside it (docs/Model.md). A reply counts once its last line is the
// closing line, so that one that is being written is never taken.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_MAILBOX_H
#define KBOPT_LLM_MAILBOX_H

#include "kb-opt/LLM/Model.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/WaitingClock.h"
#include <functional>
#include <memory>

namespace kbopt {

inline constexpr llvm::StringLiteral mailboxClosingLine = "=== end of reply ===";
/// In its place where the question is refused; the text before it says why.
inline constexpr llvm::StringLiteral mailboxRefusalLine = "=== refused ===";

struct PendingRequest {
  unsigned number = 0;
  std::string role;
  Digest digest;
  std::string requestFile, replyFile; ///< with the folder
};
/// The requests in \p folder without a complete reply, by number. The same is in its file
/// `PENDING`, kept up to date while a run waits.
llvm::Expected<std::vector<PendingRequest>> pendingRequests(FileSystem &files,
                                                            llvm::StringRef folder);

/// The complete reply in \p bytes, without its closing line; nothing while it lacks that.
std::optional<ModelReply> completeMailboxReply(llvm::StringRef bytes);

struct MailboxOptions {
  std::string folder;
  std::string model;                  ///< a label for replies
  std::optional<double> totalSeconds; ///< nothing: waits without end
  double pollSeconds = 0.5;
};
/// Makes the folder. \p notice is told once per request where its reply belongs; from
/// any thread.
llvm::Expected<std::unique_ptr<Model>> makeMailbox(MailboxOptions options, FileSystem &files,
                                                   WaitingClock &clock,
                                                   std::function<void(llvm::StringRef)> notice);

} // namespace kbopt

#endif // KBOPT_LLM_MAILBOX_H
