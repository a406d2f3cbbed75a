//===- Mailbox.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/Mailbox.h"
#include "RequestText.h"
#include "kb-opt/LLM/Budget.h"
#include "kb-opt/LLM/FailedCall.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

using namespace kbopt;
using llvm::StringRef;

static constexpr llvm::StringLiteral requestEnding = ".request.md", replyEnding = ".reply.md",
                                     pendingName = "PENDING";
/// A reply that stays without its closing line so long is spoken of.
static constexpr double unclosedSeconds = 20;

static std::string in(StringRef folder, const llvm::Twine &name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// The parts of "0007-gap-analyst-3f2a….request.md"; nothing if it is named otherwise.
static std::optional<PendingRequest> parseName(StringRef name, StringRef ending) {
  if (!name.consume_back(ending))
    return std::nullopt;
  auto [number, rest] = name.split('-');
  auto [role, digest] = rest.rsplit('-');
  PendingRequest request;
  if (number.getAsInteger(10, request.number) || !roleFromName(role) || digest.size() != 32)
    return std::nullopt;
  request.role = role.str();
  request.digest = digest.str();
  return request;
}

std::optional<ModelReply> kbopt::completeMailboxReply(StringRef bytes) {
  StringRef text = bytes.rtrim();
  ModelReply reply;
  if (text.consume_back(mailboxRefusalLine))
    reply.end = ReplyEnd::Refused;
  else if (!text.consume_back(mailboxClosingLine))
    return std::nullopt;
  // A line of its own, not the end of one.
  if (!text.empty() && !text.ends_with("\n"))
    return std::nullopt;
  reply.text = text.rtrim().str();
  return reply;
}

/// The complete reply to \p digest among \p names, whatever its number.
static std::optional<ModelReply> findReply(FileSystem &files, StringRef folder,
                                           const std::vector<std::string> &names,
                                           const Digest &digest, std::string *unclosed = nullptr) {
  for (const std::string &name : names) {
    auto parsed = parseName(name, replyEnding);
    if (!parsed || parsed->digest != digest)
      continue;
    auto bytes = files.read(in(folder, name));
    if (!bytes) {
      llvm::consumeError(bytes.takeError()); // perhaps it is being replaced
      continue;
    }
    if (auto reply = completeMailboxReply(*bytes))
      return reply;
    if (unclosed && !StringRef(*bytes).trim().empty())
      *unclosed = in(folder, name);
  }
  return std::nullopt;
}

llvm::Expected<std::vector<PendingRequest>> kbopt::pendingRequests(FileSystem &files,
                                                                   StringRef folder) {
  if (!files.exists(folder))
    return llvm::make_error<StoreError>(("there is no mailbox '" + folder + "'").str(),
                                        "name the folder of --llm=mailbox:DIR");
  std::vector<PendingRequest> pending;
  std::vector<std::string> names = files.list(folder);
  for (const std::string &name : names) {
    auto request = parseName(name, requestEnding);
    if (!request || findReply(files, folder, names, request->digest))
      continue;
    request->requestFile = in(folder, name);
    request->replyFile = in(folder, StringRef(name).drop_back(requestEnding.size()) + replyEnding);
    pending.push_back(std::move(*request));
  }
  llvm::sort(pending, [](const PendingRequest &a, const PendingRequest &b) {
    return std::tie(a.number, a.requestFile) < std::tie(b.number, b.requestFile);
  });
  return pending;
}

namespace {

class Mailbox : public Model {
public:
  Mailbox(MailboxOptions options, FileSystem &files, WaitingClock &clock,
          std::function<void(StringRef)> notice)
      : options(std::move(options)), files(files), clock(clock), notice(std::move(notice)) {}

  llvm::Expected<ModelReply> complete(const ModelRequest &request) override;

private:
  /// The request's file, made if there is none for its digest yet.
  llvm::Expected<PendingRequest> post(const ModelRequest &request, const Digest &digest);
  llvm::Error listPending();
  llvm::Error gone(const PendingRequest &request) const;
  llvm::Error late(const PendingRequest &request, double seconds) const;

  MailboxOptions options;
  FileSystem &files;
  WaitingClock &clock;
  std::function<void(StringRef)> notice;
  std::mutex posting;
};

} // namespace

llvm::Expected<PendingRequest> Mailbox::post(const ModelRequest &request, const Digest &digest) {
  std::lock_guard<std::mutex> lock(posting);
  PendingRequest mine;
  unsigned last = 0;
  for (const std::string &name : files.list(options.folder)) {
    auto known = parseName(name, requestEnding);
    if (!known)
      continue;
    last = std::max(last, known->number);
    if (known->digest == digest) {
      known->requestFile = in(options.folder, name);
      known->replyFile =
          in(options.folder, StringRef(name).drop_back(requestEnding.size()) + replyEnding);
      return *known;
    }
  }
  mine.number = last + 1;
  mine.role = roleName(request.role).str();
  mine.digest = digest;
  std::string stem;
  llvm::raw_string_ostream(stem) << llvm::format("%04u", mine.number) << "-" << mine.role << "-"
                                 << digest;
  mine.requestFile = in(options.folder, stem + requestEnding);
  mine.replyFile = in(options.folder, stem + replyEnding);
  std::string text = requestText(
      request, "Write the reply to the last user part into " + stem + replyEnding.str() +
                   " beside this file, and close it with the line\n" + mailboxClosingLine.str() +
                   "\n" + "(or with " + mailboxRefusalLine.str() + " if you will not do this).");
  llvm::Error error = files.write(mine.requestFile, text);
  if (!error)
    error = listPending();
  if (!error)
    return mine;
  if (files.exists(options.folder))
    return std::move(error);
  llvm::consumeError(std::move(error));
  return gone(mine);
}

llvm::Error Mailbox::listPending() {
  auto pending = pendingRequests(files, options.folder);
  if (!pending)
    return pending.takeError();
  std::string text;
  for (const PendingRequest &request : *pending)
    text += llvm::sys::path::filename(request.requestFile).str() + "\n";
  return files.write(in(options.folder, pendingName), text);
}

llvm::Error Mailbox::gone(const PendingRequest &request) const {
  return llvm::make_error<FailedCall>(
      "the mailbox '" + options.folder + "' was removed while " +
          llvm::sys::path::filename(request.requestFile).str() + " waited for its reply",
      0, "", false,
      "make the folder again and run the same command: what was answered is not asked again");
}

llvm::Error Mailbox::late(const PendingRequest &request, double seconds) const {
  std::string message;
  llvm::raw_string_ostream(message)
      << "no reply within " << llvm::format("%.0f", seconds) << " s: '" << request.replyFile << "'";
  return llvm::make_error<FailedCall>(
      message, 0, "", false, "write it and run the same command again, or give it more time");
}

llvm::Expected<ModelReply> Mailbox::complete(const ModelRequest &request) {
  double begin = clock.monotonicSeconds();
  Digest digest = request.digest();
  std::optional<double> most = options.totalSeconds;
  if (request.limitSeconds > 0)
    most = std::min(most.value_or(request.limitSeconds), request.limitSeconds);
  std::optional<PendingRequest> posted;
  std::string unclosed, spokenOf;
  double unclosedSince = 0;
  for (;;) {
    std::string open;
    if (auto reply = findReply(files, options.folder, files.list(options.folder), digest, &open)) {
      reply->usage = estimateUsage(request, reply->text);
      reply->model = options.model;
      reply->seconds = clock.monotonicSeconds() - begin;
      if (posted) {
        std::lock_guard<std::mutex> lock(posting);
        llvm::consumeError(listPending()); // the reply is here, list or no list
      }
      return std::move(*reply);
    }
    double now = clock.monotonicSeconds();
    if (!posted) {
      auto made = post(request, digest);
      if (!made)
        return made.takeError();
      posted = std::move(*made);
      notice("waiting for '" + posted->replyFile + "'; the request is beside it");
    } else if (!files.exists(options.folder)) {
      return gone(*posted);
    }
    if (interrupted())
      return interruption();
    if (most && now - begin >= *most)
      return late(*posted, *most);
    if (open != unclosed) {
      unclosed = open;
      unclosedSince = now;
    }
    if (!open.empty() && open != spokenOf && now - unclosedSince >= unclosedSeconds) {
      notice("'" + open + "' is not taken yet: its last line is not '" + mailboxClosingLine.str() +
             "'");
      spokenOf = open;
    }
    clock.sleepSeconds(most ? std::min(options.pollSeconds, std::max(0.0, begin + *most - now))
                            : options.pollSeconds);
  }
}

llvm::Expected<std::unique_ptr<Model>> kbopt::makeMailbox(MailboxOptions options, FileSystem &files,
                                                          WaitingClock &clock,
                                                          std::function<void(StringRef)> notice) {
  if (llvm::Error error = files.createDirectories(options.folder))
    return std::move(error);
  return std::make_unique<Mailbox>(std::move(options), files, clock, std::move(notice));
}
