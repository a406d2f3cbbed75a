//===- HttpModel.cpp - One attempt at a service over HTTP -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ChatProtocol.h"
#include "EventStream.h"
#include "Providers.h"
#include "kb-opt/LLM/FailedCall.h"
#include "kb-opt/LLM/Keys.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

using namespace kbopt;
namespace json = llvm::json;
using llvm::StringRef;
using End = HttpOutcome::End;

namespace {

class HttpModel : public Model {
public:
  HttpModel(const ModelSettings &settings, std::unique_ptr<ChatProtocol> protocol,
            std::string baseUrl, ApiKey key, const ModelWorld &world)
      : settings(settings), protocol(std::move(protocol)), baseUrl(std::move(baseUrl)),
        host(hostOf(this->baseUrl).host), key(std::move(key)), world(world) {}

  llvm::Expected<ModelReply> complete(const ModelRequest &request) override;

private:
  /// What one exchange came to.
  struct Exchange {
    HttpOutcome outcome;
    IncomingReply incoming;
    bool garbage = false; ///< something in it was no part of the protocol
  };
  Exchange exchange(const ModelRequest &request, const RoleSettings &role, const Features &without);
  HttpRequest prepare(const ModelRequest &request, const RoleSettings &role,
                      const Features &without);
  /// Leaves out what the service does not like; false: it is about something else.
  bool learn(const ServiceFault &fault, const Features &asked);
  llvm::Expected<ModelReply> judge(const ModelRequest &request, Exchange &exchange);
  llvm::Error connectionFailure(const ModelRequest &request, Exchange &exchange);
  llvm::Error serviceFailure(const ModelRequest &request, Exchange &exchange);
  std::unique_ptr<FailedCall> failure(const llvm::Twine &message, const Exchange &exchange,
                                      bool retryable, const llvm::Twine &note = "") const;
  std::string requestIdOf(const Exchange &exchange) const;

  ModelSettings settings;
  std::unique_ptr<ChatProtocol> protocol;
  std::string baseUrl, host;
  ApiKey key;
  ModelWorld world;
  std::mutex mutex;
  Features refused;
};

} // namespace

/// Messages of others: one line of printable text, without the key.
static std::string quoted(StringRef text, const ApiKey &key) {
  std::string clean = key.redact(text.trim());
  constexpr size_t most = 300;
  bool longer = clean.size() > most;
  clean.resize(std::min(clean.size(), most));
  clean = json::fixUTF8(clean);
  for (char &c : clean)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = ' ';
  return clean + (longer ? "…" : "");
}

HttpRequest HttpModel::prepare(const ModelRequest &request, const RoleSettings &role,
                               const Features &without) {
  HttpRequest http;
  http.url = baseUrl + protocol->path().str();
  http.headers = {{"Content-Type", "application/json"},
                  {"Accept", "text/event-stream, application/json"}};
  llvm::append_range(http.headers, protocol->headers(key));
  llvm::raw_string_ostream(http.body) << protocol->body(request, role, without);
  const ModelTimeouts &timeouts = settings.timeouts;
  http.connectSeconds = timeouts.connect.value_or(http.connectSeconds);
  http.stallSeconds = timeouts.stall.value_or(http.stallSeconds);
  http.totalSeconds = timeouts.total.value_or(http.totalSeconds);
  if (request.limitSeconds > 0)
    http.totalSeconds = std::min(http.totalSeconds, request.limitSeconds);
  http.replyBytes = settings.replyBytes;
  return http;
}

HttpModel::Exchange HttpModel::exchange(const ModelRequest &request, const RoleSettings &role,
                                        const Features &without) {
  Exchange result;
  EventStream events;
  bool finished = false;
  auto onEvent = [&](StringRef data) {
    if (data.trim() == "[DONE]") {
      finished = true;
      return false;
    }
    auto value = json::parse(data);
    if (!value)
      llvm::consumeError(value.takeError());
    const json::Object *object = value ? value->getAsObject() : nullptr;
    if (!object) {
      result.garbage = true;
      return false;
    }
    finished = !protocol->event(*object, result.incoming);
    return !finished;
  };
  result.outcome = world.http.post(prepare(request, role, without),
                                   [&](StringRef bytes) { return events.feed(bytes, onEvent); });
  const HttpOutcome &outcome = result.outcome;
  // A service that does not stream answers with one object; faults come as one too.
  if (outcome.end == End::Complete && !finished && !result.garbage &&
      StringRef(outcome.body).ltrim().starts_with("{")) {
    auto value = json::parse(outcome.body);
    if (!value)
      llvm::consumeError(value.takeError());
    else if (const json::Object *object = value->getAsObject())
      protocol->whole(*object, result.incoming);
  }
  return result;
}

bool HttpModel::learn(const ServiceFault &fault, const Features &asked) {
  auto feature = protocol->unsupported(fault);
  if (!feature || asked.count(*feature))
    return false;
  std::lock_guard<std::mutex> lock(mutex);
  bool isNew = refused.insert(*feature).second;
  if (isNew && *feature == Feature::Temperature)
    world.notice("'" + host + "' takes no temperature for this model; going on without");
  return true;
}

std::string HttpModel::requestIdOf(const Exchange &exchange) const {
  auto it = exchange.outcome.headers.find(protocol->requestIdHeader().str());
  return quoted(
      it != exchange.outcome.headers.end() ? it->second : exchange.incoming.reply.requestId, key);
}

std::unique_ptr<FailedCall> HttpModel::failure(const llvm::Twine &message, const Exchange &exchange,
                                               bool retryable, const llvm::Twine &note) const {
  std::string id = requestIdOf(exchange), text = ("'" + host + "' " + message).str();
  int status = exchange.outcome.status;
  if (status && status != 200)
    text += " (HTTP " + std::to_string(status) + (id.empty() ? "" : ", request " + id) + ")";
  else if (!id.empty())
    text += " (request " + id + ")";
  if (exchange.incoming.fault && !exchange.incoming.fault->message.empty())
    text += ": " + quoted(exchange.incoming.fault->message, key);
  return std::make_unique<FailedCall>(text, status, id, retryable, note.str());
}

llvm::Error HttpModel::connectionFailure(const ModelRequest &request, Exchange &exchange) {
  const HttpOutcome &outcome = exchange.outcome;
  auto failed = [&](const llvm::Twine &message, bool retryable, const llvm::Twine &note = "") {
    auto error = failure(message, exchange, retryable, note);
    if (outcome.sent && (outcome.status == 0 || outcome.status == 200))
      error->lost = estimateUsage(request, exchange.incoming.reply.text);
    return llvm::Error(std::move(error));
  };
  std::string what = quoted(outcome.what, key);
  switch (outcome.end) {
  case End::Interrupted:
    return interruption();
  case End::NoLibrary:
    return failed(
        "cannot be asked: " + what, false,
        "install the package 'libcurl4', or use --llm=command:CMD, mailbox:DIR or replay:FILE");
  case End::Unreachable:
    return failed("cannot be reached: " + what, true, "check the network and --llm-base-url");
  case End::Untrusted:
    return failed("is not trusted: " + what, false,
                  "its certificate must be valid; an address of this machine may use http");
  case End::Stalled:
    return failed("sent nothing for too long", true,
                  "the limit is 'stall' under 'timeouts' in the file of --llm-config");
  case End::TimedOut:
    // Once more would take as long.
    return failed("did not finish its reply in time", false,
                  "the limit is 'total' under 'timeouts' in the file of --llm-config");
  case End::TooLarge:
    return failed("sent too large a reply: " + what, false,
                  "the limit is 'reply-bytes' in the file of --llm-config");
  case End::CutOff:
    return failed("ended the connection in the middle: " + what, true);
  case End::Complete:
    break;
  }
  llvm_unreachable("nothing failed");
}

llvm::Error HttpModel::serviceFailure(const ModelRequest &request, Exchange &exchange) {
  int status = exchange.outcome.status;
  const auto &fault = exchange.incoming.fault;
  std::string model = *settings.forRole(request.role).model;
  auto failed = [&](const llvm::Twine &message, bool retryable, const llvm::Twine &note = "") {
    auto error = failure(message, exchange, retryable, note);
    auto header = exchange.outcome.headers.find("retry-after");
    if (auto exact = exchange.outcome.headers.find("retry-after-ms");
        exact != exchange.outcome.headers.end()) {
      double milliseconds;
      if (!StringRef(exact->second).getAsDouble(milliseconds) && milliseconds >= 0)
        error->retryAfterSeconds = milliseconds / 1000;
    } else if (header != exchange.outcome.headers.end()) {
      error->retryAfterSeconds = parseRetryAfter(header->second, world.clock.timestamp());
    }
    if (status == 200)
      error->lost = estimateUsage(request, exchange.incoming.reply.text);
    return llvm::Error(std::move(error));
  };
  if (status == 200 && fault)
    // Streams report late what would have been a status.
    return failed("broke off with an error", fault->type != "invalid_request_error");
  if (status == 401 || status == 403)
    return failed(key ? "refused the key of " + key.origin() : "asks for a key", false,
                  "docs/Privacy.md says where keys come from");
  if (status == 404)
    return failed("does not know the model '" + model + "', or the address is wrong", false,
                  "check --llm-model and --llm-base-url");
  if (status == 402 || (status == 429 && fault && fault->type == "insufficient_quota"))
    return failed("wants to be paid first", false, "look at your account there");
  if (status == 413)
    return failed("finds the request too large", false);
  if (status == 429)
    return failed("limits the rate of requests", true, "use fewer at once: -j 1");
  if (status == 529 || status == 503)
    return failed("is overloaded", true, "try again later: what was answered is not asked again");
  if (status >= 300 && status < 400)
    return failed("answered with a redirection, which is not followed", false,
                  "name the final address with --llm-base-url");
  bool retryable =
      status == 408 || status == 425 || (status >= 500 && status != 501 && status != 505);
  return failed(status >= 500 ? "failed" : "refused the request", retryable);
}

llvm::Expected<ModelReply> HttpModel::judge(const ModelRequest &request, Exchange &exchange) {
  const HttpOutcome &outcome = exchange.outcome;
  IncomingReply &incoming = exchange.incoming;
  if (outcome.end != End::Complete && !(outcome.end == End::CutOff && incoming.ended))
    return connectionFailure(request, exchange);
  // What could not be said is a reply: callers learn from it.
  if (incoming.fault && outcome.status >= 400 && outcome.status < 500 &&
      protocol->isRefusal(*incoming.fault)) {
    incoming.reply.end = ReplyEnd::Refused;
    incoming.reply.text = quoted(incoming.fault->message, key);
    incoming.fault.reset();
  } else if (outcome.status != 200 || incoming.fault) {
    return serviceFailure(request, exchange);
  } else if (!incoming.ended) {
    auto error = failure(exchange.garbage || incoming.reply.text.empty()
                             ? "answered with something that is no reply of its protocol"
                             : "ended its reply in the middle",
                         exchange, /*retryable=*/true, "check --llm and --llm-base-url");
    error->lost = estimateUsage(request, incoming.reply.text);
    return llvm::Error(std::move(error));
  }
  ModelReply reply = std::move(incoming.reply);
  if (!incoming.counted)
    reply.usage = estimateUsage(request, reply.text);
  if (reply.model.empty())
    reply.model = *settings.forRole(request.role).model;
  exchange.incoming.reply.requestId = reply.requestId;
  reply.requestId = requestIdOf(exchange);
  return reply;
}

llvm::Expected<ModelReply> HttpModel::complete(const ModelRequest &request) {
  RoleSettings role = settings.forRole(request.role);
  double begin = world.clock.monotonicSeconds();
  for (;;) {
    Features without;
    {
      std::lock_guard<std::mutex> lock(mutex);
      without = refused;
    }
    Exchange result = exchange(request, role, without);
    int status = result.outcome.status;
    // A refused request costs nothing, and each feature is left out once.
    if ((status == 400 || status == 422 || status == 501) && result.incoming.fault &&
        !protocol->isRefusal(*result.incoming.fault) && learn(*result.incoming.fault, without))
      continue;
    auto reply = judge(request, result);
    if (reply)
      reply->seconds = world.clock.monotonicSeconds() - begin;
    return reply;
  }
}

llvm::Expected<std::unique_ptr<Model>> kbopt::makeHttpModel(const ModelSettings &settings,
                                                            const ModelWorld &world) {
  bool openAi = settings.provider.kind == ProviderKind::OpenAi;
  auto protocol = openAi ? makeOpenAiProtocol() : makeAnthropicProtocol();
  std::string baseUrl =
      settings.baseUrl.empty() ? protocol->defaultBaseUrl().str() : settings.baseUrl;
  if (llvm::Error error = checkBaseUrl(baseUrl))
    return std::move(error);
  while (StringRef(baseUrl).ends_with("/"))
    baseUrl.pop_back();
  auto key = findKey(settings, baseUrl);
  if (!key)
    return key.takeError();
  // Others may do without one.
  if (!*key && settings.baseUrl.empty())
    return llvm::make_error<ProviderError>(
        "no key for '" + hostOf(baseUrl).host + "'", 0, "", false,
        std::string("export ") + (openAi ? "OPENAI_API_KEY" : "ANTHROPIC_API_KEY") +
            ", or write a line '" + hostOf(baseUrl).host +
            " KEY' into a private file (docs/Privacy.md)");
  return std::make_unique<HttpModel>(settings, std::move(protocol), std::move(baseUrl),
                                     std::move(*key), world);
}
