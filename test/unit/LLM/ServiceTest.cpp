#include "Service.h"
#include "kb-opt/LLM/Transcript.h"
#include "gtest/gtest.h"

using namespace kbopt;
namespace json = llvm::json;

namespace {

/// Every case with both protocols.
class Service : public testing::TestWithParam<bool> {
protected:
  Service() { spoken.openAi = GetParam(); }
  Spoken spoken;
  LoopbackServer::Handler answers() {
    return [this](const ServedRequest &, size_t, ServedConnection &connection) {
      spoken.answer(connection);
    };
  }
};

json::Object bodyOf(const ServedRequest &request) {
  return *llvm::cantFail(json::parse(request.body)).getAsObject();
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Protocols, Service, testing::Values(true, false),
                         [](const auto &info) { return info.param ? "OpenAi" : "Anthropic"; });

TEST_P(Service, StreamsAReply) {
  LoopbackServer server(answers());
  Client client(server, GetParam(),
                [](ModelSettings &settings) { settings.defaults.temperature = 0.5; });
  ModelRequest request = question("Make it fast.");
  request.messages.push_back({ModelMessage::Speaker::Model, "What?"});
  request.messages.push_back({ModelMessage::Speaker::User, "The kernel \xff."});
  ModelReply reply = llvm::cantFail(client.model->complete(request));
  EXPECT_EQ(reply.text, spoken.reply);
  EXPECT_EQ(reply.end, ReplyEnd::Complete);
  EXPECT_EQ(reply.usage.prompt, 120u);
  EXPECT_EQ(reply.usage.completion, 30u);
  EXPECT_EQ(reply.usage.cached, 100u);
  EXPECT_FALSE(reply.usage.estimated);
  EXPECT_EQ(reply.model, "big-2026");
  EXPECT_EQ(reply.requestId, "req_7");

  ASSERT_EQ(server.requests().size(), 1u);
  ServedRequest sent = server.requests()[0];
  EXPECT_EQ(sent.method, "POST");
  json::Object body = bodyOf(sent);
  EXPECT_EQ(body.getString("model"), "big");
  EXPECT_EQ(body.getInteger("max_tokens"), 500);
  EXPECT_EQ(body.getNumber("temperature"), 0.5);
  EXPECT_EQ(body.getBoolean("stream"), true);
  const json::Array &messages = *body.getArray("messages");
  if (GetParam()) {
    EXPECT_EQ(sent.path, "/v1/chat/completions");
    EXPECT_EQ(sent.headers["authorization"], "Bearer secret-key-42");
    ASSERT_EQ(messages.size(), 4u);
    EXPECT_EQ(messages[0].getAsObject()->getString("role"), "system");
    EXPECT_EQ(messages[2].getAsObject()->getString("role"), "assistant");
  } else {
    EXPECT_EQ(sent.path, "/v1/messages");
    EXPECT_EQ(sent.headers["x-api-key"], "secret-key-42");
    EXPECT_EQ(sent.headers["anthropic-version"], "2023-06-01");
    EXPECT_EQ(body.getString("system"), "You write CUDA.");
    ASSERT_EQ(messages.size(), 3u);
  }
  EXPECT_EQ(messages.back().getAsObject()->getString("content"), "The kernel \xef\xbf\xbd.");
}

TEST_P(Service, StreamsInAnyPieces) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.beginChunks();
    for (char c : spoken.stream())
      connection.chunk(llvm::StringRef(&c, 1));
    connection.endChunks();
  });
  EXPECT_EQ(llvm::cantFail(Client(server, GetParam()).model->complete(question("a"))).text,
            spoken.reply);
}

TEST_P(Service, TakesCarriageReturns) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    std::string stream;
    for (char c : spoken.stream())
      stream += c == '\n' ? std::string("\r\n") : std::string(1, c);
    connection.beginChunks();
    connection.chunk(stream);
    connection.waitForHangUp(); // the reply is complete: nobody waits for more
  });
  EXPECT_EQ(llvm::cantFail(Client(server, GetParam()).model->complete(question("a"))).text,
            spoken.reply);
}

TEST_P(Service, TakesAReplyThatIsNoStream) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.reply(
        200,
        GetParam()
            ? R"({"id":"c-9","model":"m","choices":[{"message":{"role":"assistant","content":"whole"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}})"
            : R"({"id":"m-9","model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"whole"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}})");
  });
  ModelReply reply = llvm::cantFail(Client(server, GetParam()).model->complete(question("a")));
  EXPECT_EQ(reply.text, "whole");
  EXPECT_EQ(reply.usage.total(), 5u);
}

TEST_P(Service, TruncatedAndRefusedAreReplies) {
  LoopbackServer server(answers());
  Client client(server, GetParam());
  spoken.end = GetParam() ? "length" : "max_tokens";
  EXPECT_EQ(llvm::cantFail(client.model->complete(question("a"))).end, ReplyEnd::Truncated);
  spoken.end = GetParam() ? "content_filter" : "refusal";
  EXPECT_EQ(llvm::cantFail(client.model->complete(question("a"))).end, ReplyEnd::Refused);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_P(Service, RefusedContentIsNotAskedAgain) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.reply(400, GetParam()
                              ? R"({"error":{"code":"content_filter","message":"no such content"}})"
                              : spoken.fault("invalid_request_error",
                                             "Output blocked by content filtering policy"));
  });
  ModelReply reply = llvm::cantFail(Client(server, GetParam()).model->complete(question("a")));
  EXPECT_EQ(reply.end, ReplyEnd::Refused);
  EXPECT_NE(reply.text.find("content"), std::string::npos);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_P(Service, CountsForServicesThatDoNot) {
  spoken.counts = false;
  LoopbackServer server(answers());
  ModelReply reply =
      llvm::cantFail(Client(server, GetParam()).model->complete(question("12345678")));
  EXPECT_TRUE(reply.usage.estimated);
  EXPECT_GT(reply.usage.prompt, 0u);
  EXPECT_GT(reply.usage.completion, 0u);
}

TEST_P(Service, AReplyCutOffInTheMiddleIsAskedForAgain) {
  LoopbackServer server([&](const ServedRequest &, size_t number, ServedConnection &connection) {
    if (number)
      return spoken.answer(connection);
    connection.beginChunks();
    connection.chunk(llvm::StringRef(spoken.stream()).take_front(spoken.stream().size() * 3 / 5));
  });
  Client client(server, GetParam());
  EXPECT_EQ(llvm::cantFail(client.model->complete(question("a"))).text, spoken.reply);
  EXPECT_EQ(client.clock.waits().size(), 1u);
  ModelSpend total = client.model->total();
  EXPECT_EQ(total.calls, 2u) << "the first may have been charged for";
  EXPECT_TRUE(total.usage.estimated);
  ASSERT_EQ(client.notices.size(), 1u);
  EXPECT_NE(client.notices[0].find("in the middle"), std::string::npos) << client.notices[0];
  EXPECT_NE(client.notices[0].find("; trying again in 1 s"), std::string::npos)
      << client.notices[0];
}

TEST_P(Service, AStreamThatEndsWithoutItsEnd) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.beginChunks();
    connection.chunk(llvm::StringRef(spoken.stream())
                         .take_front(spoken.stream().size() * 3 / 5)
                         .rsplit("\n\n")
                         .first.str() +
                     "\n\n");
    connection.endChunks();
  });
  Client client(server, GetParam(), [](ModelSettings &settings) { settings.retries = 1; });
  std::string error = errorText(client.model->complete(question("a")));
  EXPECT_NE(error.find("'" + server.host() + "' ended its reply in the middle"), std::string::npos)
      << error;
  EXPECT_NE(error.find("(tried 2 times)"), std::string::npos) << error;
}

TEST_P(Service, Stalls) {
  LoopbackServer server([&](const ServedRequest &, size_t number, ServedConnection &connection) {
    if (number == 1) { // after its first bytes
      connection.beginChunks();
      connection.chunk(llvm::StringRef(spoken.stream()).take_front(40));
    }
    connection.waitForHangUp();
  });
  Client client(server, GetParam(), [](ModelSettings &settings) {
    settings.retries = 1;
    settings.timeouts.stall = 0.1;
  });
  std::string error = errorText(client.model->complete(question("a")));
  EXPECT_NE(error.find("sent nothing for too long"), std::string::npos) << error;
  EXPECT_NE(error.find("note: the limit is 'stall' under 'timeouts'"), std::string::npos) << error;
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_P(Service, DripsWithoutEnd) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.beginChunks();
    while (connection.chunk(": still here\n\n"))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  Client client(server, GetParam(),
                [](ModelSettings &settings) { settings.timeouts.total = 0.15; });
  std::string error = errorText(client.model->complete(question("a")));
  EXPECT_NE(error.find("did not finish its reply in time"), std::string::npos) << error;
  EXPECT_EQ(server.requests().size(), 1u) << "once more would take as long";
}

TEST_P(Service, ABudgetOfSecondsEndsTheCall) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.waitForHangUp();
  });
  Client client(
      server, GetParam(), [](ModelSettings &settings) { settings.budget.seconds = 0.15; },
      &realWaitingClock());
  ExitStatus status;
  std::string error = errorText(client.model->complete(question("a")), &status);
  EXPECT_NE(error.find(" s for the model was spent before the reply came"), std::string::npos)
      << error;
  EXPECT_EQ(status, ExitStatus::Budget);
}

TEST_P(Service, ServersThatFailAreTriedAgainMoreAndMoreSlowly) {
  LoopbackServer server([&](const ServedRequest &, size_t number, ServedConnection &connection) {
    static const int statuses[] = {500, 529, 503};
    if (number < 3)
      return connection.reply(statuses[number],
                              number == 2 ? "<html>upstream</html>"
                                          : spoken.fault("overloaded_error", "Overloaded"));
    spoken.answer(connection);
  });
  Client client(server, GetParam());
  EXPECT_EQ(llvm::cantFail(client.model->complete(question("a"))).text, spoken.reply);
  auto waits = client.clock.waits();
  ASSERT_EQ(waits.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GE(waits[i], 0.5 * (1 << i));
    EXPECT_LE(waits[i], 1.0 * (1 << i));
  }
  EXPECT_EQ(client.model->total().calls, 1u);
  EXPECT_EQ(client.model->total().failed, 3u);
}

TEST_P(Service, AfterAllRetriesTheErrorNamesTheRequest) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.reply(529, spoken.fault("overloaded_error", "Overloaded"),
                     {GetParam() ? "x-request-id: req_77" : "request-id: req_77"});
  });
  Client client(server, GetParam());
  ExitStatus status;
  std::string error = errorText(client.model->complete(question("a")), &status);
  EXPECT_NE(error.find("is overloaded (HTTP 529, request req_77): Overloaded (tried 4 times)"),
            std::string::npos)
      << error;
  EXPECT_EQ(status, ExitStatus::Environment);
  EXPECT_EQ(server.requests().size(), 4u);
}

TEST_P(Service, WaitsAsLongAsItIsAskedTo) {
  LoopbackServer server([&](const ServedRequest &, size_t number, ServedConnection &connection) {
    static const char *const headers[] = {
        "Retry-After: 7", "retry-after: Sat, 01 Jan 2000 00:01:00 GMT", "retry-after-ms: 250"};
    if (number < 3)
      return connection.reply(429, spoken.fault("rate_limit_error", "slow down"),
                              {headers[number]});
    spoken.answer(connection);
  });
  Client client(server, GetParam());
  EXPECT_EQ(llvm::cantFail(client.model->complete(question("a"))).text, spoken.reply);
  auto waits = client.clock.waits();
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_GE(waits[0], 7);
  EXPECT_LE(waits[0], 7.25);
  EXPECT_GE(waits[1], 60 - 8);
  EXPECT_LE(waits[1], 60 - 7 + 0.5);
  EXPECT_GE(waits[2], 0.25);
  EXPECT_LE(waits[2], 1.25);
}

TEST_P(Service, DoesNotWaitForHours) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.reply(429, spoken.fault("rate_limit_error", "come back tomorrow"),
                     {"retry-after: 86400"});
  });
  Client client(server, GetParam());
  std::string error = errorText(client.model->complete(question("a")));
  EXPECT_NE(error.find("come back tomorrow; it asks to wait 86400 s"), std::string::npos) << error;
  EXPECT_TRUE(client.clock.waits().empty());
}

TEST_P(Service, NothingIsTriedAgainWhereItCannotHelp) {
  int status = 0;
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.reply(status, spoken.fault("some_error", "because"));
  });
  for (auto [code, words] :
       {std::pair{400, "refused the request (HTTP 400): because"},
        {401, "refused the key of KBOPT_LLM_KEY (HTTP 401): because"},
        {403, "refused the key of KBOPT_LLM_KEY (HTTP 403)"},
        {402, "wants to be paid first (HTTP 402)"},
        {404, "does not know the model 'big', or the address is wrong (HTTP 404)"},
        {413, "finds the request too large (HTTP 413)"},
        {422, "refused the request (HTTP 422)"}}) {
    status = code;
    Client client(server, GetParam());
    size_t before = server.requests().size();
    std::string error = errorText(client.model->complete(question("a")));
    EXPECT_NE(error.find(words), std::string::npos) << error;
    EXPECT_EQ(server.requests().size(), before + 1);
    EXPECT_EQ(client.model->total().calls, 0u);
  }
}

TEST_P(Service, Garbage) {
  std::string body;
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.reply(200, body);
  });
  for (const char *garbage : {"", "<html>Welcome</html>", "{\"half\":", "[]", "{}", "data: {{{\n\n",
                              "data: 3\n\n", "{\"choices\":[7],\"content\":3}",
                              "data: {\"choices\":\"no\",\"type\":5}\n\n", "\xff\xfe\x00\x01"}) {
    body = garbage;
    Client client(server, GetParam(), [](ModelSettings &settings) { settings.retries = 0; });
    std::string error = errorText(client.model->complete(question("a")));
    EXPECT_NE(error.find("is no reply of its protocol"), std::string::npos)
        << garbage << ": " << error;
  }
}

TEST_P(Service, NoHttpAtAll) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.send("220 mail ready\r\n");
  });
  Client client(server, GetParam(), [](ModelSettings &settings) { settings.retries = 0; });
  std::string error = errorText(client.model->complete(question("a")));
  EXPECT_NE(error.find("'" + server.host() + "' ended the connection in the middle"),
            std::string::npos)
      << error;
}

TEST_P(Service, AHugeReplyIsNotRead) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.beginChunks();
    std::string filler = ": " + std::string(4000, 'x') + "\n\n";
    for (int i = 0; i < 1000; ++i)
      connection.chunk(filler);
    connection.endChunks();
  });
  Client client(server, GetParam(), [](ModelSettings &settings) { settings.replyBytes = 100000; });
  std::string error = errorText(client.model->complete(question("a")));
  EXPECT_NE(error.find("sent too large a reply: more than 100000 bytes"), std::string::npos)
      << error;
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_P(Service, AnErrorInTheMiddleOfAStream) {
  LoopbackServer server([&](const ServedRequest &, size_t number, ServedConnection &connection) {
    if (number)
      return spoken.answer(connection);
    connection.beginChunks();
    connection.chunk("data: " + spoken.fault("overloaded_error", "Overloaded") + "\n\n");
    connection.endChunks();
  });
  Client client(server, GetParam());
  EXPECT_EQ(llvm::cantFail(client.model->complete(question("a"))).text, spoken.reply);
  ASSERT_EQ(client.notices.size(), 1u);
  EXPECT_NE(client.notices[0].find("broke off with an error: Overloaded"), std::string::npos)
      << client.notices[0];
}

TEST_P(Service, RedirectionsAreNotFollowed) {
  LoopbackServer thief(answers());
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.reply(307, "", {"Location: " + thief.url() + "/v1/messages"});
  });
  std::string error = errorText(Client(server, GetParam()).model->complete(question("a")));
  EXPECT_NE(error.find("answered with a redirection, which is not followed (HTTP 307)"),
            std::string::npos)
      << error;
  EXPECT_TRUE(thief.requests().empty());
}

TEST_P(Service, AKeyGoesToItsHostOnlyAndIntoNoMessage) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.reply(
        401, spoken.fault("authentication_error", "Incorrect API key provided: secret-key-42."));
  });
  Client client(server, GetParam());
  std::string error = errorText(client.model->complete(question("a")));
  EXPECT_NE(error.find("Incorrect API key provided: [key]."), std::string::npos) << error;
  EXPECT_EQ(error.find("secret-key-42"), std::string::npos);

  ::setenv("KBOPT_LLM_KEY", "api.example.com secret-key-42", 1);
  ::setenv("OPENAI_API_KEY", "secret-key-43", 1);
  ::setenv("ANTHROPIC_API_KEY", "secret-key-44", 1);
  auto other = llvm::cantFail(createModel(client.settings, ModelWorld{.clock = client.clock}));
  error = errorText(other->complete(question("a")));
  ::unsetenv("OPENAI_API_KEY");
  ::unsetenv("ANTHROPIC_API_KEY");
  EXPECT_NE(error.find("asks for a key (HTTP 401)"), std::string::npos) << error;
  ServedRequest last = server.requests().back();
  EXPECT_EQ(last.headers.count("authorization") + last.headers.count("x-api-key"), 0u);
}

TEST_P(Service, NobodyListens) {
  std::string url;
  {
    LoopbackServer server(answers());
    url = server.url();
  }
  LoopbackServer unused(answers());
  Client client(unused, GetParam(), [&](ModelSettings &settings) {
    settings.baseUrl = url;
    settings.retries = 1;
  });
  std::string error = errorText(client.model->complete(question("a")));
  EXPECT_NE(error.find("cannot be reached: "), std::string::npos) << error;
  EXPECT_NE(error.find("(tried 2 times)\nkb-opt: note: check the network and --llm-base-url"),
            std::string::npos)
      << error;
  EXPECT_EQ(client.model->total().calls, 0u);
}

TEST_P(Service, EncryptionThatIsNone) {
  LoopbackServer server([&](const ServedRequest &, size_t, ServedConnection &connection) {
    connection.reply(200, "{}");
  });
  // The server waits for a head that never comes: a TLS greeting is none.
  Client client(server, GetParam(), [&](ModelSettings &settings) {
    settings.baseUrl = "https://" + server.host();
    settings.timeouts.stall = 0.2;
    settings.retries = 0;
  });
  std::string error = errorText(client.model->complete(question("a")));
  EXPECT_TRUE(server.requests().empty()) << "nothing goes out unencrypted";
  EXPECT_NE(error.find("error: '" + server.host() + "' "), std::string::npos) << error;
}

TEST_P(Service, ParallelCallsShareABudget) {
  LoopbackServer server(answers());
  Client client(server, GetParam(), [](ModelSettings &settings) {
    settings.budget.tokens = 2000;
    settings.budget.calls = 20;
  });
  std::atomic<unsigned> done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i)
        if (auto reply = client.model->complete(question("q")))
          ++done;
        else
          llvm::consumeError(reply.takeError());
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_LE(client.model->total().usage.total(), 2000u);
  EXPECT_EQ(server.requests().size(), done.load());
  EXPECT_EQ(done, 10u) << "150 tokens each, until the next might need more than is left";
}

TEST_P(Service, RecordedThenReplayedWithItsCost) {
  auto folder = llvm::cantFail(TemporaryDirectory::create("kbopt-record"));
  llvm::cantFail(realFileSystem().write(folder.file("p.yaml"),
                                        "big-*: {input: 1, output: 10, cached: 0.1}\n"));
  double cost = (20 * 1 + 100 * 0.1 + 30 * 10) / 1e6;
  {
    LoopbackServer server(answers());
    Client client(server, GetParam(), [&](ModelSettings &settings) {
      settings.recordFile = folder.file("t.jsonl");
      settings.pricesFile = folder.file("p.yaml");
    });
    EXPECT_DOUBLE_EQ(llvm::cantFail(client.model->complete(question("a"))).cost.value_or(0), cost);
  }
  EXPECT_EQ(llvm::cantFail(realFileSystem().read(folder.file("t.jsonl"))).find("secret-key"),
            std::string::npos);
  ModelSettings settings;
  settings.provider = {ProviderKind::Replay, folder.file("t.jsonl")};
  settings.budget.dollars = 1;
  auto replay = llvm::cantFail(createModel(settings));
  EXPECT_EQ(llvm::cantFail(replay->complete(question("a"))).text, spoken.reply);
  EXPECT_DOUBLE_EQ(replay->total().dollars, cost);
}
