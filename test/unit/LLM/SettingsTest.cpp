#include "kb-opt/LLM/Settings.h"
#include "TestModels.h"
#include "kb-opt/LLM/Prices.h"
#include "gtest/gtest.h"

using namespace kbopt;

TEST(Settings, ProvidersAsTheyAreWritten) {
  for (const char *text :
       {"off", "openai", "anthropic", "command:llm -m x 'y'", "mailbox:a b", "replay:t.jsonl"}) {
    auto spec = parseProvider(text);
    ASSERT_TRUE(static_cast<bool>(spec)) << text;
    EXPECT_EQ(spec->text(), text);
  }
  EXPECT_EQ(parseProvider("mailbox:C:d")->argument, "C:d");
  EXPECT_EQ(
      errorText(parseProvider("gemini")),
      "kb-opt: error: unknown model provider 'gemini'\n"
      "kb-opt: note: it is openai, anthropic, command:CMD, mailbox:DIR, replay:FILE or off\n");
  EXPECT_EQ(errorText(parseProvider("mailbox:")).substr(0, 52),
            "kb-opt: error: 'mailbox:' names no folder\nkb-opt: no");
  EXPECT_NE(errorText(parseProvider("openai:gpt")).find("a service takes no argument"),
            std::string::npos);
}

TEST(Settings, TheWholeFile) {
  ModelSettings settings;
  ASSERT_EQ(errorText(readModelSettings(R"(
provider: anthropic
base-url: https://llm.example.com/v1
key-env: MY_KEY
key-file: keys/mine
model: big
temperature: 0.7
max-tokens: 9000
timeouts: {connect: 5, stall: 60.5}
retries: 2
reply-bytes: 4096
prices: /abs/prices.yaml
record: run.jsonl
budget: {dollars: 2.5, tokens: 100000, calls: 40, seconds: 600}
roles:
  planner: {model: small, temperature: 0, budget: {calls: 7}}
  gap-analyst: {max-tokens: 500}
)",
                                        "conf/llm.yaml", settings)),
            "no error");
  EXPECT_EQ(settings.provider.kind, ProviderKind::Anthropic);
  EXPECT_EQ(settings.keyVariable, "MY_KEY");
  EXPECT_EQ(settings.keyFile, "conf/keys/mine") << "beside the file";
  EXPECT_EQ(settings.pricesFile, "/abs/prices.yaml");
  EXPECT_EQ(settings.recordFile, "conf/run.jsonl");
  EXPECT_EQ(settings.timeouts.connect, 5);
  EXPECT_EQ(settings.timeouts.stall, 60.5);
  EXPECT_FALSE(settings.timeouts.total);
  EXPECT_EQ(settings.retries, 2u);
  EXPECT_EQ(settings.replyBytes, 4096u);
  EXPECT_EQ(settings.budget.dollars, 2.5);
  EXPECT_EQ(settings.budget.seconds, 600);
  EXPECT_EQ(settings.roles[ModelRole::Planner].budget.calls, 7u);
  RoleSettings planner = settings.forRole(ModelRole::Planner);
  EXPECT_EQ(planner.model, "small");
  EXPECT_EQ(planner.temperature, 0);
  EXPECT_EQ(planner.maxTokens, 9000u);
  EXPECT_EQ(settings.forRole(ModelRole::GapAnalyst).maxTokens, 500u);
  EXPECT_EQ(settings.forRole(ModelRole::Coder).model, "big");
}

TEST(Settings, JsonIsYaml) {
  ModelSettings settings;
  ASSERT_EQ(errorText(readModelSettings(
                R"({"provider": "replay:t.jsonl", "roles": {"coder": {"model": "m"}}})", "a.json",
                settings)),
            "no error");
  EXPECT_EQ(settings.provider.text(), "replay:t.jsonl");
  EXPECT_EQ(settings.forRole(ModelRole::Coder).model, "m");
  EXPECT_EQ(settings.forRole(ModelRole::Planner).model, "");
  EXPECT_FALSE(settings.forRole(ModelRole::Coder).temperature) << "nothing said: the service's own";
}

TEST(Settings, WhatAFileDoesNotSayStays) {
  ModelSettings settings;
  settings.defaults.model = "mine";
  settings.retries = 1;
  ASSERT_EQ(errorText(readModelSettings("temperature: 1\n", "a.yaml", settings)), "no error");
  EXPECT_EQ(settings.defaults.model, "mine");
  EXPECT_EQ(settings.retries, 1u);
}

struct BadFile {
  const char *text, *message;
};
class BadSettings : public testing::TestWithParam<BadFile> {};
TEST_P(BadSettings, NamesFileLineAndKey) {
  ModelSettings settings;
  std::string got = errorText(readModelSettings(GetParam().text, "f.yaml", settings));
  EXPECT_NE(got.find(GetParam().message), std::string::npos) << got;
}
INSTANTIATE_TEST_SUITE_P(
    Settings, BadSettings,
    testing::Values(BadFile{"\nmodle: x\n", "f.yaml:2:1: unknown key 'modle' in the settings of "
                                            "models\nkb-opt: note: did you mean 'model'?"},
                    BadFile{"key: sk-123\n", "f.yaml:1:1: unknown key 'key'"},
                    BadFile{"provider: gemini\n", "f.yaml:1:11: unknown model provider 'gemini'"},
                    BadFile{"temperature: hot\n",
                            "f.yaml:1:14: expected a number from 0 to 2 for 'temperature'"},
                    BadFile{"temperature: -1\n", "expected a number from 0 to 2"},
                    BadFile{"temperature: nan\n", "expected a number from 0 to 2"},
                    BadFile{"max-tokens: 0\n", "expected a whole number from 1"},
                    BadFile{"retries: 1.5\n", "expected a whole number from 0 to 20 for 'retries'"},
                    BadFile{"roles:\n  author: {model: x}\n", "f.yaml:2:3: unknown role 'author'"},
                    BadFile{"roles: [coder]\n", "expected a mapping from roles"},
                    BadFile{"roles:\n  coder: {budget: {euros: 1}}\n",
                            "f.yaml:2:20: unknown key 'euros' in a budget"},
                    BadFile{"model: a\nmodel: b\n", "f.yaml:2:1: 'model' is given twice"},
                    BadFile{"timeouts: 5\n", "f.yaml:1:11: expected a mapping for timeouts"},
                    BadFile{"base-url: ftp://x\n", "f.yaml:1:11: 'base-url' is no address"},
                    BadFile{"model: [\n", "f.yaml:"}));

TEST(Settings, BaseUrls) {
  for (const char *good : {"https://api.openai.com/v1", "http://localhost:8000/v1",
                           "http://[::1]:11434/v1", "http://127.0.0.1"})
    EXPECT_EQ(errorText(checkBaseUrl(good)), "no error") << good;
  for (const char *bad : {"", "localhost:8000", "file:///etc/passwd", "https://", "https:///v1",
                          "https://a b/", "https://a/?k=v", "https://a/v1#x", "http://a\n/"})
    EXPECT_NE(errorText(checkBaseUrl(bad)), "no error") << bad;
  std::string secret = errorText(checkBaseUrl("https://user:hunter2@host/v1"));
  EXPECT_NE(secret.find("no user or password"), std::string::npos);
  EXPECT_EQ(secret.find("hunter2"), std::string::npos);
}

TEST(Prices, ByNameAndByBeginning) {
  auto table = PriceTable::read("big-*: {input: 3, output: 15, cached: 0.3}\nbig-2: {input: 1, "
                                "output: 2}\nbig-3*: {input: 5, output: 5}\n",
                                "p.yaml");
  ASSERT_TRUE(static_cast<bool>(table));
  TokenUsage usage{1000000, 100000, 500000, false};
  EXPECT_DOUBLE_EQ(table->find("big-9")->of(usage), 1.5 + 0.15 + 1.5);
  EXPECT_DOUBLE_EQ(table->find("big-2")->of(usage), 1.2) << "no price of cached tokens: as others";
  EXPECT_DOUBLE_EQ(table->find("big-3x")->input, 5);
  EXPECT_FALSE(table->find("small"));
  EXPECT_FALSE(table->find(""));
}

TEST(Prices, BadFiles) {
  auto text = [](const char *yaml) { return errorText(PriceTable::read(yaml, "p.yaml")); };
  EXPECT_NE(text("m: {input: 1}\n").find("p.yaml:1:5: the price of 'm' lacks 'output'"),
            std::string::npos)
      << text("m: {input: 1}\n");
  EXPECT_NE(text("m: {input: free, output: 1}\n")
                .find("p.yaml:1:12: expected US dollars per million tokens for 'input'"),
            std::string::npos);
  EXPECT_NE(text("m: {input: -1, output: 1}\n").find("expected US dollars"), std::string::npos);
  EXPECT_NE(text("m: {in: 1}\n").find("unknown key 'in'"), std::string::npos);
  EXPECT_NE(text("m: 3\n").find("expected {input"), std::string::npos);
  EXPECT_NE(text("- a\n").find("expected a mapping"), std::string::npos);
}
