//===- AnthropicProtocol.cpp - Messages -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ChatProtocol.h"
#include "kb-opt/Support/JsonBytes.h"

using namespace kbopt;
namespace json = llvm::json;
using llvm::StringRef;

namespace {

class AnthropicProtocol : public ChatProtocol {
public:
  StringRef defaultBaseUrl() const override { return "https://api.anthropic.com"; }
  StringRef path() const override { return "/v1/messages"; }
  StringRef requestIdHeader() const override { return "request-id"; }
  std::vector<std::pair<std::string, std::string>> headers(const ApiKey &key) const override {
    std::vector<std::pair<std::string, std::string>> result = {{"anthropic-version", "2023-06-01"}};
    if (key)
      result.push_back({"x-api-key", key.reveal()});
    return result;
  }
  json::Value body(const ModelRequest &request, const RoleSettings &role,
                   const Features &without) const override;
  bool event(const json::Object &event, IncomingReply &incoming) const override;
  void whole(const json::Object &object, IncomingReply &incoming) const override;
  std::optional<Feature> unsupported(const ServiceFault &fault) const override {
    if (StringRef(fault.message).contains("temperature"))
      return Feature::Temperature;
    return std::nullopt;
  }
  bool isRefusal(const ServiceFault &fault) const override {
    return StringRef(fault.message).contains("content filtering policy");
  }

private:
  static void usage(const json::Object *usage, IncomingReply &incoming);
  static void stop(const json::Object &object, IncomingReply &incoming);
};

} // namespace

json::Value AnthropicProtocol::body(const ModelRequest &request, const RoleSettings &role,
                                    const Features &without) const {
  json::Array messages;
  for (const ModelMessage &message : request.messages)
    messages.push_back(json::Object{
        {"role", message.speaker == ModelMessage::Speaker::User ? "user" : "assistant"},
        {"content", shownJson(message.text)}});
  json::Object body{{"model", *role.model},
                    {"max_tokens", *role.maxTokens},
                    {"messages", std::move(messages)},
                    {"stream", true}};
  if (!request.system.empty())
    body["system"] = shownJson(request.system);
  if (role.temperature && !without.count(Feature::Temperature))
    body["temperature"] = *role.temperature;
  return body;
}

void AnthropicProtocol::usage(const json::Object *usage, IncomingReply &incoming) {
  if (!usage)
    return;
  auto count = [&](StringRef name) {
    return std::max<int64_t>(0, usage->getInteger(name).value_or(0));
  };
  TokenUsage &into = incoming.reply.usage;
  if (usage->getInteger("input_tokens")) {
    into.cached = count("cache_read_input_tokens");
    into.prompt = count("input_tokens") + into.cached + count("cache_creation_input_tokens");
  }
  // Cumulative: the last one holds.
  if (usage->getInteger("output_tokens"))
    into.completion = count("output_tokens");
  incoming.counted |= into.prompt > 0;
}

void AnthropicProtocol::stop(const json::Object &object, IncomingReply &incoming) {
  auto reason = object.getString("stop_reason");
  if (!reason)
    return;
  incoming.ended = true;
  if (*reason == "max_tokens" || *reason == "model_context_window_exceeded")
    incoming.reply.end = ReplyEnd::Truncated;
  else if (*reason == "refusal")
    incoming.reply.end = ReplyEnd::Refused;
}

bool AnthropicProtocol::event(const json::Object &event, IncomingReply &incoming) const {
  StringRef type = event.getString("type").value_or("");
  if (type == "error") {
    incoming.fault = faultIn(event).value_or(ServiceFault());
    return false;
  }
  if (type == "message_start") {
    if (const json::Object *message = event.getObject("message")) {
      incoming.reply.model = message->getString("model").value_or("").str();
      usage(message->getObject("usage"), incoming);
    }
  } else if (type == "content_block_start") {
    if (const json::Object *block = event.getObject("content_block");
        block && block->getString("type") == "text")
      incoming.reply.text += block->getString("text").value_or("");
  } else if (type == "content_block_delta") {
    if (const json::Object *delta = event.getObject("delta");
        delta && delta->getString("type") == "text_delta")
      incoming.reply.text += delta->getString("text").value_or("");
  } else if (type == "message_delta") {
    if (const json::Object *delta = event.getObject("delta"))
      stop(*delta, incoming);
    usage(event.getObject("usage"), incoming);
  }
  return type != "message_stop";
}

void AnthropicProtocol::whole(const json::Object &object, IncomingReply &incoming) const {
  incoming.fault = faultIn(object);
  const json::Array *content = object.getArray("content");
  if (incoming.fault || !content)
    return;
  for (const json::Value &value : *content)
    if (const json::Object *block = value.getAsObject();
        block && block->getString("type") == "text")
      incoming.reply.text += block->getString("text").value_or("");
  incoming.reply.model = object.getString("model").value_or("").str();
  usage(object.getObject("usage"), incoming);
  stop(object, incoming);
}

std::unique_ptr<ChatProtocol> kbopt::makeAnthropicProtocol() {
  return std::make_unique<AnthropicProtocol>();
}
