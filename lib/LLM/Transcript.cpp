//===- Transcript.cpp - The format of transcripts -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/Transcript.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/JsonBytes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;
namespace json = llvm::json;

static constexpr int formatVersion = 1;

static constexpr std::pair<ReplyEnd, llvm::StringLiteral> ends[] = {
    {ReplyEnd::Complete, "complete"},
    {ReplyEnd::Truncated, "truncated"},
    {ReplyEnd::Refused, "refused"}};

static json::Value requestJson(const ModelRequest &request) {
  json::Array messages;
  for (const ModelMessage &message : request.messages)
    messages.push_back(
        json::Object{{"speaker", message.speaker == ModelMessage::Speaker::User ? "user" : "model"},
                     {"text", shownJson(message.text)}});
  json::Object object{{"system", shownJson(request.system)}, {"messages", std::move(messages)}};
  if (!request.schema.empty())
    object["schema"] = shownJson(request.schema);
  if (!request.sample.empty())
    object["sample"] = shownJson(request.sample);
  return object;
}

static json::Value replyJson(const ModelReply &reply) {
  const TokenUsage &usage = reply.usage;
  json::Object counts{{"prompt", usage.prompt}, {"completion", usage.completion}};
  if (usage.cached)
    counts["cached"] = usage.cached;
  if (usage.estimated)
    counts["estimated"] = true;
  llvm::StringRef end =
      llvm::find_if(ends, [&](const auto &e) { return e.first == reply.end; })->second;
  json::Object object{{"text", shownJson(reply.text)},
                      {"end", end},
                      {"usage", std::move(counts)},
                      {"seconds", reply.seconds}};
  if (!reply.model.empty())
    object["model"] = shownJson(reply.model);
  if (!reply.requestId.empty())
    object["requestId"] = shownJson(reply.requestId);
  if (reply.cost)
    object["cost"] = *reply.cost;
  return object;
}

json::Value kbopt::toJson(const TranscriptEntry &entry) {
  return json::Object{{"version", formatVersion},
                      {"digest", entry.request.digest()},
                      {"role", roleName(entry.request.role)},
                      {"request", requestJson(entry.request)},
                      {"reply", replyJson(entry.reply)}};
}

static bool readRequest(const json::Object &object, ModelRequest &request) {
  const json::Array *messages = object.getArray("messages");
  auto system = object.getString("system");
  if (!messages || !system)
    return false;
  request.system = system->str();
  request.schema = object.getString("schema").value_or("").str();
  request.sample = object.getString("sample").value_or("").str();
  for (const json::Value &value : *messages) {
    const json::Object *message = value.getAsObject();
    auto speaker = message ? message->getString("speaker") : std::nullopt;
    auto words = message ? message->getString("text") : std::nullopt;
    if (!speaker || !words || (*speaker != "user" && *speaker != "model"))
      return false;
    request.messages.push_back(
        {*speaker == "user" ? ModelMessage::Speaker::User : ModelMessage::Speaker::Model,
         words->str()});
  }
  return true;
}

static bool readReply(const json::Object &object, ModelReply &reply) {
  auto words = object.getString("text");
  auto end = object.getString("end");
  const json::Object *usage = object.getObject("usage");
  if (!words || !end || !usage)
    return false;
  const auto *known = llvm::find_if(ends, [&](const auto &e) { return e.second == *end; });
  if (known == std::end(ends))
    return false;
  reply.text = words->str();
  reply.end = known->first;
  auto count = [&](llvm::StringRef name) {
    return std::max<int64_t>(0, usage->getInteger(name).value_or(0));
  };
  reply.usage.prompt = count("prompt");
  reply.usage.completion = count("completion");
  reply.usage.cached = count("cached");
  reply.usage.estimated = usage->getBoolean("estimated").value_or(false);
  reply.model = object.getString("model").value_or("").str();
  reply.requestId = object.getString("requestId").value_or("").str();
  reply.seconds = object.getNumber("seconds").value_or(0);
  reply.cost = object.getNumber("cost");
  return true;
}

static llvm::Error damaged(llvm::StringRef where, const llvm::Twine &what) {
  return llvm::make_error<StoreError>(
      (where + ": " + what).str(),
      "a transcript is what --llm-record=FILE writes; record it again");
}

llvm::Expected<TranscriptEntry> kbopt::transcriptEntryFromJson(llvm::StringRef line,
                                                               llvm::StringRef where) {
  auto value = json::parse(line);
  if (!value)
    return damaged(where, "no JSON: " + llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return damaged(where, "expected an object");
  auto version = object->getInteger("version");
  if (version != formatVersion)
    return damaged(where, "expected version " + llvm::Twine(formatVersion) + " of the format");
  TranscriptEntry entry;
  auto role = roleFromName(object->getString("role").value_or(""));
  const json::Object *request = object->getObject("request"), *reply = object->getObject("reply");
  if (!role || !request || !reply || !readRequest(*request, entry.request) ||
      !readReply(*reply, entry.reply))
    return damaged(where, "expected digest, role, request and reply");
  entry.request.role = *role;
  if (entry.request.digest() != object->getString("digest"))
    return damaged(where, "the request was changed: it is not the one of its digest");
  return entry;
}

llvm::Expected<std::vector<TranscriptEntry>> kbopt::readTranscript(FileSystem &files,
                                                                   llvm::StringRef file) {
  auto bytes = files.read(file);
  if (!bytes)
    return bytes.takeError();
  std::vector<TranscriptEntry> entries;
  llvm::StringRef rest = *bytes;
  for (unsigned number = 1; !rest.empty(); ++number) {
    bool ended = rest.contains('\n');
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (line.trim().empty())
      continue;
    auto entry = transcriptEntryFromJson(line, (file + ":" + llvm::Twine(number)).str());
    if (entry)
      entries.push_back(std::move(*entry));
    else if (ended)
      return entry.takeError();
    else
      llvm::consumeError(entry.takeError());
  }
  return entries;
}
