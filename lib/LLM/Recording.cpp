//===- Recording.cpp - Writing transcripts and answering from them --------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/FailedCall.h"
#include "kb-opt/LLM/Transcript.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <mutex>

using namespace kbopt;
using llvm::StringRef;

namespace {

class Recorder : public Model {
public:
  Recorder(std::unique_ptr<Model> inner, std::string file, FileSystem &files)
      : inner(std::move(inner)), file(std::move(file)), files(files) {}

  llvm::Expected<ModelReply> complete(const ModelRequest &request) override {
    auto reply = inner->complete(request);
    if (!reply)
      return reply;
    std::string line;
    llvm::raw_string_ostream(line) << toJson({request, *reply});
    if (llvm::Error error = files.appendLine(file, line))
      return std::move(error);
    return reply;
  }

private:
  std::unique_ptr<Model> inner;
  std::string file;
  FileSystem &files;
};

class Replay : public Model {
public:
  Replay(std::string file, std::vector<TranscriptEntry> read)
      : file(std::move(file)), entries(std::move(read)) {
    for (size_t i = 0; i < entries.size(); ++i)
      byDigest[entries[i].request.digest()].all.push_back(i);
  }

  llvm::Expected<ModelReply> complete(const ModelRequest &request) override {
    Digest digest = request.digest();
    std::lock_guard<std::mutex> lock(mutex);
    auto it = byDigest.find(digest);
    if (it == byDigest.end())
      return missing(request, digest);
    auto &[all, next] = it->second;
    size_t index = all[std::min(next, all.size() - 1)];
    ++next;
    return entries[index].reply;
  }

private:
  struct Replies {
    std::vector<size_t> all;
    size_t next = 0;
  };
  llvm::Error missing(const ModelRequest &request, const Digest &digest) const;

  std::string file;
  std::vector<TranscriptEntry> entries;
  std::map<Digest, Replies> byDigest;
  std::mutex mutex;
};

} // namespace

/// All that is shown to a model, in lines.
static std::string shownText(const ModelRequest &request) {
  std::string text = request.system;
  for (const ModelMessage &message : request.messages)
    text += "\n" + message.text;
  return text + "\n" + request.schema + "\n" + request.sample;
}

static size_t commonPrefix(StringRef a, StringRef b) {
  return std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first -
         a.begin();
}

/// The line around \p offset, shortened.
static std::string lineAt(StringRef text, size_t offset) {
  size_t begin = text.substr(0, offset).rfind('\n');
  begin = begin == StringRef::npos ? 0 : begin + 1;
  StringRef line = text.substr(begin).split('\n').first.trim();
  return line.empty() ? "nothing"
                      : ("'" + line.take_front(60) + (line.size() > 60 ? "…" : "") + "'").str();
}

llvm::Error Replay::missing(const ModelRequest &request, const Digest &digest) const {
  StringRef role = roleName(request.role);
  std::string wanted = shownText(request);
  const TranscriptEntry *nearest = nullptr;
  size_t most = 0;
  for (const TranscriptEntry &entry : entries) {
    if (entry.request.role != request.role)
      continue;
    size_t same = commonPrefix(wanted, shownText(entry.request));
    if (!nearest || same > most) {
      nearest = &entry;
      most = same;
    }
  }
  std::string message =
      "'" + file + "' has no reply to request " + digest + " of the " + role.str();
  if (nearest)
    message += "; the nearest is " + nearest->request.digest() + ", which has " +
               lineAt(shownText(nearest->request), most) + " where this one has " +
               lineAt(wanted, most);
  else
    message += "; none of its " + std::to_string(entries.size()) + " requests is of this role";
  return llvm::make_error<FailedCall>(std::move(message), 0, "", false,
                                      "the program, the options or kb-opt are not those of the "
                                      "recording; record anew with --llm=PROVIDER "
                                      "--llm-record=" +
                                          file);
}

llvm::Expected<std::unique_ptr<Model>> kbopt::makeRecorder(std::unique_ptr<Model> inner,
                                                           std::string file, FileSystem &files) {
  StringRef folder = llvm::sys::path::parent_path(file);
  if (llvm::Error error = folder.empty() ? llvm::Error::success() : files.createDirectories(folder))
    return std::move(error);
  if (files.exists(file)) {
    // A writer that was killed may have left half a line: drop it, so that no line is spoilt.
    auto bytes = files.read(file);
    if (!bytes)
      return bytes.takeError();
    StringRef whole = *bytes;
    if (!whole.empty() && !whole.ends_with("\n"))
      if (llvm::Error error = files.write(file, whole.substr(0, whole.rfind('\n') + 1)))
        return std::move(error);
  }
  return std::make_unique<Recorder>(std::move(inner), std::move(file), files);
}

llvm::Expected<std::unique_ptr<Model>> kbopt::makeReplay(std::string file, FileSystem &files) {
  auto entries = readTranscript(files, file);
  if (!entries)
    return entries.takeError();
  return std::make_unique<Replay>(std::move(file), std::move(*entries));
}
