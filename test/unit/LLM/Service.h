//===- Service.h - Both protocols, as a server speaks them ------*- C++ -*-===//
#ifndef KBOPT_TEST_UNIT_LLM_SERVICE_H
#define KBOPT_TEST_UNIT_LLM_SERVICE_H

#include "LoopbackServer.h"
#include "TestModels.h"
#include "kb-opt/LLM/CreateModel.h"
#include "llvm/Support/JSON.h"

namespace kbopt {

inline std::string text(const llvm::json::Value &value) {
  std::string result;
  llvm::raw_string_ostream(result) << value;
  return result;
}

struct Spoken {
  bool openAi = true;
  std::string reply = "Use shared memory \xe2\x80\x93 \"tiles\".";
  std::string end; ///< empty: complete
  bool counts = true;

  /// The stream of events, in the service's own words.
  std::string stream() const {
    using llvm::json::Array;
    using llvm::json::Object;
    std::string events;
    auto event = [&](llvm::StringRef name, Object object) {
      events += (openAi ? "" : "event: " + name.str() + "\n") + "data: " + text(std::move(object)) +
                "\n\n";
    };
    // In two parts; the cut is within no character.
    std::pair<std::string, std::string> parts = {reply.substr(0, 4),
                                                 reply.size() > 4 ? reply.substr(4) : ""};
    if (openAi) {
      auto chunk = [&](Object delta, llvm::json::Value finish) {
        event("", Object{{"id", "chatcmpl-1"},
                         {"object", "chat.completion.chunk"},
                         {"model", "big-2026"},
                         {"choices", Array{Object{{"index", 0},
                                                  {"delta", std::move(delta)},
                                                  {"finish_reason", std::move(finish)}}}}});
      };
      chunk(Object{{"role", "assistant"}, {"content", ""}}, nullptr);
      events += ": a comment\n\n";
      chunk(Object{{"content", parts.first}}, nullptr);
      chunk(Object{{"content", parts.second}}, nullptr);
      chunk(Object{}, end.empty() ? "stop" : end);
      if (counts)
        event("",
              Object{{"model", "big-2026"},
                     {"choices", Array{}},
                     {"usage", Object{{"prompt_tokens", 120},
                                      {"completion_tokens", 30},
                                      {"prompt_tokens_details", Object{{"cached_tokens", 100}}}}}});
      return events + "data: [DONE]\n\n";
    }
    Object usage{{"input_tokens", 15},
                 {"cache_read_input_tokens", 100},
                 {"cache_creation_input_tokens", 5},
                 {"output_tokens", 1}};
    Object message{{"id", "msg_1"}, {"model", "big-2026"}};
    if (counts)
      message["usage"] = std::move(usage);
    event("message_start", Object{{"type", "message_start"}, {"message", std::move(message)}});
    event("content_block_start", Object{{"type", "content_block_start"},
                                        {"index", 0},
                                        {"content_block", Object{{"type", "text"}, {"text", ""}}}});
    event("ping", Object{{"type", "ping"}});
    for (const std::string &part : {parts.first, parts.second})
      event("content_block_delta",
            Object{{"type", "content_block_delta"},
                   {"index", 0},
                   {"delta", Object{{"type", "text_delta"}, {"text", part}}}});
    event("content_block_stop", Object{{"type", "content_block_stop"}, {"index", 0}});
    Object delta{{"type", "message_delta"},
                 {"delta", Object{{"stop_reason", end.empty() ? "end_turn" : end}}}};
    if (counts)
      delta["usage"] = Object{{"output_tokens", 30}};
    event("message_delta", std::move(delta));
    event("message_stop", Object{{"type", "message_stop"}});
    return events;
  }
  void answer(ServedConnection &connection) const {
    connection.beginChunks("text/event-stream",
                           {openAi ? "x-request-id: req_7" : "request-id: req_7"});
    connection.chunk(stream());
    connection.endChunks();
  }
  /// What the service says with an error status.
  std::string fault(llvm::StringRef type, llvm::StringRef message) const {
    using llvm::json::Object;
    Object error{{"type", type}, {"message", message}};
    return text(openAi ? Object{{"error", std::move(error)}}
                       : Object{{"type", "error"}, {"error", std::move(error)}});
  }
};

/// A model that asks \p server with \p key; the clock takes no time.
struct Client {
  FakeWaitingClock clock;
  std::mutex mutex;
  std::vector<std::string> notices;
  ModelSettings settings;
  std::unique_ptr<AccountedModel> model;

  Client(
      const LoopbackServer &server, bool openAi,
      std::function<void(ModelSettings &)> change = [](ModelSettings &) {},
      WaitingClock *otherClock = nullptr) {
    ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    ::setenv("KBOPT_LLM_KEY", (server.host() + " secret-key-42").c_str(), 1);
    settings.provider.kind = openAi ? ProviderKind::OpenAi : ProviderKind::Anthropic;
    settings.baseUrl = server.url() + (openAi ? "/v1" : "");
    settings.defaults.model = "big";
    settings.defaults.maxTokens = 500;
    settings.retries = 3;
    change(settings);
    ModelWorld world{.clock = otherClock ? *otherClock : clock};
    world.notice = [this](llvm::StringRef line) {
      std::lock_guard<std::mutex> lock(mutex);
      notices.push_back(line.str());
    };
    model = llvm::cantFail(createModel(settings, world));
  }
};

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_LLM_SERVICE_H
