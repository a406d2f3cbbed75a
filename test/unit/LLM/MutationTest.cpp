#include "Service.h"
#include "kb-opt/LLM/StructuredReply.h"
#include "kb-opt/LLM/Transcript.h"
#include "kb-opt/Support/Random.h"
#include "gtest/gtest.h"

using namespace kbopt;

/// \p text with a few bytes changed, dropped, doubled or cut off behind.
static std::string mutated(std::string text, Random &random) {
  for (uint64_t changes = 1 + random.below(6); changes && !text.empty(); --changes) {
    size_t at = random.below(text.size());
    switch (random.below(5)) {
    case 0:
      text[at] = static_cast<char>(random.below(256));
      break;
    case 1:
      text.erase(at, 1 + random.below(20));
      break;
    case 2:
      text.insert(at, text.substr(random.below(text.size()), random.below(40)));
      break;
    case 3:
      text[at] = "{}[]\":,\\\n0e-"[random.below(13)];
      break;
    case 4:
      if (random.below(4) == 0)
        text.resize(at);
      break;
    }
  }
  return text;
}

namespace {
/// Answers with bytes in pieces of any size; no network.
class BytesClient : public HttpClient {
public:
  std::string bytes;
  Random random{7};
  HttpOutcome post(const HttpRequest &, llvm::function_ref<bool(llvm::StringRef)> onData) override {
    HttpOutcome outcome;
    outcome.status = 200;
    outcome.sent = true;
    for (llvm::StringRef rest = bytes; !rest.empty();) {
      llvm::StringRef piece = rest.take_front(1 + random.below(200));
      rest = rest.drop_front(piece.size());
      outcome.body += piece;
      if (!onData(piece))
        break;
    }
    return outcome;
  }
};
} // namespace

TEST(Mutations, OfReplies) {
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
  ::unsetenv("KBOPT_LLM_KEY");
  Random random(1);
  unsigned replies = 0, errors = 0;
  for (bool openAi : {true, false}) {
    Spoken spoken;
    spoken.openAi = openAi;
    BytesClient http;
    FakeWaitingClock clock;
    ModelSettings settings;
    settings.provider.kind = openAi ? ProviderKind::OpenAi : ProviderKind::Anthropic;
    settings.baseUrl = "http://localhost";
    settings.defaults.model = "m";
    settings.retries = 0;
    auto model = llvm::cantFail(createModel(settings, ModelWorld{.clock = clock, .http = http}));
    for (int i = 0; i < 1500; ++i) {
      http.bytes = mutated(spoken.stream(), random);
      auto reply = model->complete(question("a"));
      if (!reply)
        EXPECT_NE(errorText(reply.takeError()).find("kb-opt: error: 'localhost' "),
                  std::string::npos);
      ++(reply ? replies : errors);
    }
    ModelSpend total = model->total();
    EXPECT_EQ(total.calls + total.failed, 1500u);
  }
  EXPECT_GT(replies, 500u);
  EXPECT_GT(errors, 500u);
}

TEST(Mutations, OfObjectsInText) {
  Random random(2);
  const char *good = "Sure:\n```json\n{\"edits\":[{\"anchor\":\"a1\",\"text\":\"for (int i = 0; i "
                     "< n; ++i) { x[i] = \\\"}\\\"; }\\n\"}]}\n```\nDone.";
  unsigned found = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string problem;
    auto objects = jsonObjectsIn(mutated(good, random), problem);
    EXPECT_NE(objects.empty(), problem.empty());
    for (const llvm::json::Value &object : objects)
      EXPECT_TRUE(object.getAsObject());
    found += !objects.empty();
  }
  EXPECT_GT(found, 300u);
}

TEST(Mutations, OfTranscriptsAndSettings) {
  Random random(3);
  std::string line = text(toJson({question("a"), replyWith("b")}));
  const char *yaml = "provider: openai\nmodel: m\ntimeouts: {total: 5}\nroles:\n  coder: "
                     "{temperature: 0.5, budget: {calls: 3}}\n";
  unsigned good = 0, bad = 0;
  for (int i = 0; i < 2000; ++i) {
    if (auto entry = transcriptEntryFromJson(mutated(line, random), "t.jsonl:1"))
      ++good;
    else
      EXPECT_NE(errorText(entry.takeError()).find("error: t.jsonl:1: "), std::string::npos);
    ModelSettings settings;
    if (llvm::Error error = readModelSettings(mutated(yaml, random), "s.yaml", settings)) {
      EXPECT_NE(errorText(std::move(error)).find("error: s.yaml"), std::string::npos);
      ++bad;
    }
  }
  EXPECT_GT(bad, 500u);
  EXPECT_GT(good, 50u) << "changes of what the digest does not cover";
}
