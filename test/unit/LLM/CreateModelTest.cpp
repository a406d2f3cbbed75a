#include "kb-opt/LLM/CreateModel.h"
#include "TestModels.h"
#include "kb-opt/LLM/FailedCall.h"
#include "kb-opt/LLM/Keys.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <sys/stat.h>

using namespace kbopt;

static void forgetKeys() {
  for (const char *name : {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "KBOPT_LLM_KEY", "MY_KEY"})
    ::unsetenv(name);
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
}

static ModelSettings settingsFor(const char *provider) {
  ModelSettings settings;
  settings.provider = llvm::cantFail(parseProvider(provider));
  return settings;
}

TEST(CreateModel, SaysAtOnceWhatCannotWork) {
  forgetKeys();
  EXPECT_FALSE(llvm::cantFail(createModel(settingsFor("off"))));
  ModelSettings settings = settingsFor("anthropic");
  ExitStatus status;
  EXPECT_EQ(errorText(createModel(settings), &status),
            "kb-opt: error: no model is named for the provider 'anthropic'\n"
            "kb-opt: note: name one: --llm-model=NAME, or 'model' in the file of --llm-config\n");
  EXPECT_EQ(status, ExitStatus::Usage);
  settings.defaults.model = "m";
  EXPECT_EQ(errorText(createModel(settings), &status),
            "kb-opt: error: no key for 'api.anthropic.com'\n"
            "kb-opt: note: export ANTHROPIC_API_KEY, or write a line 'api.anthropic.com KEY' into "
            "a private file (docs/Privacy.md)\n");
  EXPECT_EQ(status, ExitStatus::Environment);
  settings.budget.dollars = 1;
  EXPECT_NE(errorText(createModel(settings), &status)
                .find("a budget of dollars cannot be kept: the price of 'm' is unknown"),
            std::string::npos);
  EXPECT_NE(
      errorText(createModel(settingsFor("replay:none.jsonl"))).find("cannot read 'none.jsonl'"),
      std::string::npos);
  settings.pricesFile = "none.yaml";
  EXPECT_NE(errorText(createModel(settings)).find("cannot read 'none.yaml'"), std::string::npos);
}

TEST(CreateModel, WithoutLibcurl) {
  forgetKeys();
  struct NoCurl : HttpClient {
    HttpOutcome post(const HttpRequest &, llvm::function_ref<bool(llvm::StringRef)>) override {
      HttpOutcome outcome;
      outcome.end = HttpOutcome::End::NoLibrary;
      outcome.what = "libcurl is not installed";
      return outcome;
    }
  } http;
  FakeWaitingClock clock;
  ModelSettings settings = settingsFor("openai");
  settings.defaults.model = "m";
  settings.baseUrl = "https://llm.example.com/v1";
  auto model = llvm::cantFail(createModel(settings, ModelWorld{.clock = clock, .http = http}));
  EXPECT_EQ(errorText(model->complete(question("a"))),
            "kb-opt: error: 'llm.example.com' cannot be asked: libcurl is not installed\n"
            "kb-opt: note: install the package 'libcurl4', or use --llm=command:CMD, mailbox:DIR "
            "or replay:FILE\n");
  EXPECT_TRUE(clock.waits().empty());
}

TEST(CreateModel, ABudgetOfZeroRefusesTheFirstCall) {
  ModelSettings settings = settingsFor("command:echo never");
  settings.budget.calls = 0;
  auto model = llvm::cantFail(createModel(settings));
  ExitStatus status;
  EXPECT_EQ(errorText(model->complete(question("a")), &status),
            "kb-opt: error: the budget of 0 calls for the model is spent\n"
            "kb-opt: note: give more with --budget-calls, or in the file of --llm-config\n");
  EXPECT_EQ(status, ExitStatus::Budget);
}

TEST(Retries, AfterHeaders) {
  const char *now = "2026-11-21T19:00:00Z";
  EXPECT_EQ(parseRetryAfter("12", now), 12);
  EXPECT_EQ(parseRetryAfter(" 1.5 ", now), 1.5);
  EXPECT_EQ(parseRetryAfter("Sat, 21 Nov 2026 19:00:30 GMT", now), 30);
  EXPECT_EQ(parseRetryAfter("Sat, 21 Nov 2026 18:00:00 GMT", now), 0) << "past";
  for (const char *bad : {"", "-3", "soon", "nan", "inf", "Sat, 21 Nov 2026 19:00:30 CET"})
    EXPECT_FALSE(parseRetryAfter(bad, now)) << bad;
}

TEST(Keys, HostsOfUrls) {
  EXPECT_EQ(hostOf("https://API.OpenAI.com/v1").host, "api.openai.com");
  EXPECT_EQ(hostOf("https://api.openai.com:443").host, "api.openai.com");
  EXPECT_EQ(hostOf("https://api.openai.com:8443").host, "api.openai.com:8443");
  for (const char *local : {"http://localhost:8000/v1", "http://127.0.0.1", "http://[::1]:1/"})
    EXPECT_TRUE(hostOf(local).loopback) << local;
  for (const char *remote : {"http://localhost.example.com", "http://127.example.com",
                             "http://10.0.0.1", "http://[::2]"})
    EXPECT_FALSE(hostOf(remote).loopback) << remote;
}

TEST(Keys, BelongToTheirHosts) {
  forgetKeys();
  ::setenv("OPENAI_API_KEY", "sk-openai", 1);
  ::setenv("KBOPT_LLM_KEY", "llm.example.com sk-example", 1);
  auto key = [](const char *url, const ModelSettings &settings = {}) {
    return llvm::cantFail(findKey(settings, url));
  };
  EXPECT_EQ(key("https://api.openai.com/v1").reveal(), "sk-openai");
  EXPECT_EQ(key("https://api.openai.com/v1").origin(), "OPENAI_API_KEY");
  EXPECT_EQ(key("https://llm.example.com/v1").reveal(), "sk-example");
  for (const char *other : {"https://api.openai.com.evil.org/v1", "https://api.anthropic.com",
                            "https://evil.org/api.openai.com", "https://api.openai.com:8443/v1",
                            "http://localhost:8000/v1"})
    EXPECT_FALSE(key(other)) << other;
  ::setenv("MY_KEY", "sk-mine", 1);
  ModelSettings mine;
  mine.keyVariable = "MY_KEY";
  EXPECT_EQ(key("https://anywhere.org", mine).reveal(), "sk-mine") << "the settings say so";
  ::unsetenv("MY_KEY");
  EXPECT_NE(errorText(llvm::Expected<int>(findKey(mine, "https://anywhere.org").takeError()))
                .find("the variable 'MY_KEY' holds no key"),
            std::string::npos);
}

static std::string keyError(const ModelSettings &settings, const char *url) {
  auto key = findKey(settings, url);
  return key ? "no error" : errorText(key.takeError());
}

TEST(Keys, GoNowhereUnencrypted) {
  forgetKeys();
  ::setenv("KBOPT_LLM_KEY", "llm.example.com sk-example", 1);
  std::string error = keyError({}, "http://llm.example.com/v1");
  EXPECT_NE(error.find("the key of KBOPT_LLM_KEY would go to 'llm.example.com' without encryption"),
            std::string::npos)
      << error;
  EXPECT_EQ(error.find("sk-"), std::string::npos);
  ::setenv("KBOPT_LLM_KEY", "localhost:8000 sk-local", 1);
  EXPECT_EQ(keyError({}, "http://localhost:8000/v1"), "no error");
}

TEST(Keys, WhatIsNoKeyIsNotSent) {
  forgetKeys();
  ::setenv("OPENAI_API_KEY", "sk-1\r\nX-Evil: 1", 1);
  std::string error = keyError({}, "https://api.openai.com/v1");
  EXPECT_NE(error.find("what OPENAI_API_KEY holds is no key"), std::string::npos) << error;
  EXPECT_EQ(error.find("sk-1"), std::string::npos);
  ::setenv("KBOPT_LLM_KEY", "sk-without-host", 1);
  error = keyError({}, "https://a.org");
  EXPECT_NE(error.find("KBOPT_LLM_KEY: expected 'HOST KEY'"), std::string::npos) << error;
  EXPECT_EQ(error.find("sk-"), std::string::npos);
  forgetKeys();
}

TEST(Keys, FilesArePrivate) {
  forgetKeys();
  auto folder = llvm::cantFail(TemporaryDirectory::create("kbopt-keys"));
  ModelSettings settings;
  settings.keyFile = folder.file("keys");
  EXPECT_NE(keyError(settings, "https://a.org")
                .find("cannot read the keys in '" + settings.keyFile + "'"),
            std::string::npos);
  llvm::cantFail(
      realFileSystem().write(settings.keyFile, "# mine\na.org sk-a\n\nb.org:8443 sk-b\n"));
  for (mode_t mode : {0644, 0640, 0604, 0660}) {
    ::chmod(settings.keyFile.c_str(), mode);
    std::string error = keyError(settings, "https://a.org");
    EXPECT_NE(error.find("others can read the keys in '" + settings.keyFile +
                         "'\nkb-opt: note: chmod 600"),
              std::string::npos)
        << error;
  }
  ::chmod(settings.keyFile.c_str(), 0600);
  EXPECT_EQ(llvm::cantFail(findKey(settings, "https://a.org/v1")).reveal(), "sk-a");
  EXPECT_EQ(llvm::cantFail(findKey(settings, "https://b.org:8443")).reveal(), "sk-b");
  EXPECT_FALSE(llvm::cantFail(findKey(settings, "https://b.org")));
  llvm::cantFail(realFileSystem().write(settings.keyFile, "a.org sk-a\nsk-alone\n"));
  std::string error = keyError(settings, "https://c.org");
  EXPECT_NE(error.find("keys:2: expected 'HOST KEY'"), std::string::npos) << error;
  EXPECT_EQ(error.find("sk-alone"), std::string::npos);
  settings.keyFile = folder.path().str();
  EXPECT_NE(keyError(settings, "https://a.org").find("is no file of keys"), std::string::npos);
}

TEST(Keys, AreTakenOutOfTexts) {
  ApiKey key("sk-1", "X");
  EXPECT_EQ(key.redact("key sk-1 and sk-1"), "key [key] and [key]");
  EXPECT_EQ(ApiKey().redact("text"), "text");
  EXPECT_EQ(ApiKey("key", "X").redact("a key"), "a [key]");
}
