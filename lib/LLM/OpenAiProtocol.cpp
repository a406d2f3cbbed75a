//===- OpenAiProtocol.cpp - Chat completions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ChatProtocol.h"
#include "kb-opt/Support/JsonBytes.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
namespace json = llvm::json;
using llvm::StringRef;

ChatProtocol::~ChatProtocol() = default;

std::optional<ServiceFault> kbopt::faultIn(const json::Object &object) {
  const json::Value *error = object.get("error");
  ServiceFault fault;
  // vLLM of old has the parts at the top, and web frameworks say "detail".
  if (!error && object.getString("object") == "error" && object.getString("message")) {
    fault.message = object.getString("message")->str();
    return fault;
  }
  if (!error)
    error = object.get("detail");
  if (!error || error->kind() == json::Value::Null)
    return std::nullopt;
  if (auto text = error->getAsString()) {
    fault.message = text->str();
  } else if (const json::Object *parts = error->getAsObject()) {
    fault.message = parts->getString("message").value_or("").str();
    fault.parameter = parts->getString("param").value_or("").str();
    fault.type = parts->getString("code").value_or(parts->getString("type").value_or("")).str();
  }
  return fault;
}

namespace {

class OpenAiProtocol : public ChatProtocol {
public:
  StringRef defaultBaseUrl() const override { return "https://api.openai.com/v1"; }
  StringRef path() const override { return "/chat/completions"; }
  StringRef requestIdHeader() const override { return "x-request-id"; }
  std::vector<std::pair<std::string, std::string>> headers(const ApiKey &key) const override {
    if (!key)
      return {};
    return {{"Authorization", "Bearer " + key.reveal()}};
  }
  json::Value body(const ModelRequest &request, const RoleSettings &role,
                   const Features &without) const override;
  bool event(const json::Object &event, IncomingReply &incoming) const override;
  void whole(const json::Object &object, IncomingReply &incoming) const override;
  std::optional<Feature> unsupported(const ServiceFault &fault) const override;
  bool isRefusal(const ServiceFault &fault) const override {
    return llvm::is_contained({"content_filter", "content_policy_violation", "invalid_prompt"},
                              fault.type);
  }

private:
  static void common(const json::Object &object, IncomingReply &incoming);
  static void choice(const json::Object &choice, StringRef part, IncomingReply &incoming);
};

} // namespace

json::Value OpenAiProtocol::body(const ModelRequest &request, const RoleSettings &role,
                                 const Features &without) const {
  json::Array messages;
  if (!request.system.empty())
    messages.push_back(json::Object{{"role", "system"}, {"content", shownJson(request.system)}});
  for (const ModelMessage &message : request.messages)
    messages.push_back(json::Object{
        {"role", message.speaker == ModelMessage::Speaker::User ? "user" : "assistant"},
        {"content", shownJson(message.text)}});
  json::Object body{{"model", *role.model}, {"messages", std::move(messages)}, {"stream", true}};
  if (!without.count(Feature::StreamUsage))
    body["stream_options"] = json::Object{{"include_usage", true}};
  // The newer name is that of models that think first; others know the older one only.
  body[without.count(Feature::MaxTokens) ? "max_completion_tokens" : "max_tokens"] =
      *role.maxTokens;
  if (role.temperature && !without.count(Feature::Temperature))
    body["temperature"] = *role.temperature;
  if (!request.schema.empty() && !without.count(Feature::Schema)) {
    auto schema = json::parse(request.schema);
    if (schema)
      body["response_format"] = json::Object{
          {"type", "json_schema"},
          {"json_schema",
           json::Object{{"name", "reply"}, {"schema", std::move(*schema)}, {"strict", false}}}};
    else
      llvm::consumeError(schema.takeError());
  }
  return body;
}

void OpenAiProtocol::common(const json::Object &object, IncomingReply &incoming) {
  incoming.fault = faultIn(object);
  if (auto model = object.getString("model"))
    incoming.reply.model = model->str();
  if (auto id = object.getString("id"); id && incoming.reply.requestId.empty())
    incoming.reply.requestId = id->str();
  const json::Object *usage = object.getObject("usage");
  auto prompt = usage ? usage->getInteger("prompt_tokens") : std::nullopt;
  auto completion = usage ? usage->getInteger("completion_tokens") : std::nullopt;
  if (!prompt || !completion || *prompt < 0 || *completion < 0)
    return;
  incoming.counted = true;
  incoming.reply.usage.prompt = *prompt;
  incoming.reply.usage.completion = *completion;
  if (const json::Object *details = usage->getObject("prompt_tokens_details"))
    incoming.reply.usage.cached =
        std::max<int64_t>(0, details->getInteger("cached_tokens").value_or(0));
}

void OpenAiProtocol::choice(const json::Object &choice, StringRef part, IncomingReply &incoming) {
  if (const json::Object *message = choice.getObject(part)) {
    incoming.reply.text += message->getString("content").value_or("");
    if (auto refusal = message->getString("refusal")) {
      incoming.reply.text += *refusal;
      incoming.reply.end = ReplyEnd::Refused;
    }
  }
  auto reason = choice.getString("finish_reason");
  if (!reason || reason->empty())
    return;
  incoming.ended = true;
  if (*reason == "length")
    incoming.reply.end = ReplyEnd::Truncated;
  else if (*reason == "content_filter")
    incoming.reply.end = ReplyEnd::Refused;
}

bool OpenAiProtocol::event(const json::Object &event, IncomingReply &incoming) const {
  common(event, incoming);
  if (incoming.fault)
    return false;
  if (const json::Array *choices = event.getArray("choices"))
    for (const json::Value &one : *choices)
      if (const json::Object *object = one.getAsObject())
        choice(*object, "delta", incoming);
  return true; // the counts come behind the end
}

void OpenAiProtocol::whole(const json::Object &object, IncomingReply &incoming) const {
  common(object, incoming);
  const json::Array *choices = object.getArray("choices");
  if (incoming.fault || !choices || choices->empty() || !choices->front().getAsObject())
    return;
  const json::Object &first = *choices->front().getAsObject();
  choice(first, "message", incoming);
  incoming.ended |= first.getObject("message") != nullptr;
}

std::optional<Feature> OpenAiProtocol::unsupported(const ServiceFault &fault) const {
  auto names = [&](StringRef name) {
    return StringRef(fault.parameter).starts_with(name) || StringRef(fault.message).contains(name);
  };
  // The message about max_tokens tells the newer name, that about the schema may quote anything.
  if (names("response_format") || names("json_schema") || names("guided"))
    return Feature::Schema;
  if (names("stream_options"))
    return Feature::StreamUsage;
  if (names("max_tokens") && names("max_completion_tokens"))
    return Feature::MaxTokens;
  if (names("temperature"))
    return Feature::Temperature;
  return std::nullopt;
}

std::unique_ptr<ChatProtocol> kbopt::makeOpenAiProtocol() {
  return std::make_unique<OpenAiProtocol>();
}
