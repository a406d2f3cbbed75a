#include "kb-opt/LLM/Budget.h"
#include "TestModels.h"
#include "kb-opt/LLM/FailedCall.h"
#include "gtest/gtest.h"
#include <atomic>
#include <thread>

using namespace kbopt;

namespace {

struct Fixture {
  FakeWaitingClock clock;
  ModelSettings settings;
  PriceTable prices;
  std::unique_ptr<Budget> budget;
  FunctionModel *inner = nullptr;
  std::unique_ptr<Model> model;

  explicit Fixture(FunctionModel::Answer answer, BudgetLimits overall = {},
                   std::map<ModelRole, BudgetLimits> roles = {}) {
    settings.defaults.model = "big";
    settings.defaults.maxTokens = 100;
    prices = llvm::cantFail(PriceTable::read("big: {input: 10, output: 20}\n", "p.yaml"));
    budget = std::make_unique<Budget>(Budget::Limits{overall, std::move(roles)}, clock);
    auto function = std::make_unique<FunctionModel>(std::move(answer));
    inner = function.get();
    model = makeBudgetModel(std::move(function), *budget, prices, settings);
  }
};

BudgetLimits callsOnly(uint64_t calls) {
  BudgetLimits limits;
  limits.calls = calls;
  return limits;
}

FunctionModel::Answer always(ModelReply reply) {
  return [reply](const ModelRequest &, size_t) -> llvm::Expected<ModelReply> { return reply; };
}

} // namespace

TEST(Budget, CountsWhatWasUsedPerRole) {
  Fixture fixture(always(replyWith("x", 1000, 50)));
  llvm::cantFail(fixture.model->complete(question("a")));
  llvm::cantFail(fixture.model->complete(question("b")));
  auto reply = llvm::cantFail(fixture.model->complete(question("c", ModelRole::Planner)));
  EXPECT_DOUBLE_EQ(*reply.cost, 0.011);
  ModelSpend total = fixture.budget->total();
  EXPECT_EQ(total.calls, 3u);
  EXPECT_EQ(total.usage.total(), 3150u);
  EXPECT_NEAR(total.dollars, 0.033, 1e-12);
  auto roles = fixture.budget->perRole();
  EXPECT_EQ(roles.size(), 2u);
  EXPECT_EQ(roles[ModelRole::Coder].calls, 2u);
  EXPECT_EQ(roles[ModelRole::Planner].usage.completion, 50u);
  EXPECT_EQ(total.describe(), "3 calls, 3150 tokens, $0.03");
}

TEST(Budget, UnknownPricesAreSaidToBeUnknown) {
  ModelReply reply = replyWith("x");
  Fixture fixture(always(reply));
  fixture.prices = PriceTable();
  EXPECT_FALSE(llvm::cantFail(fixture.model->complete(question("a"))).cost);
  EXPECT_EQ(fixture.budget->total().describe(), "1 call, 15 tokens, cost unknown");
  fixture.prices = llvm::cantFail(PriceTable::read("big: {input: 1, output: 1}\n", "p"));
  llvm::cantFail(fixture.model->complete(question("a")));
  EXPECT_EQ(fixture.budget->total().describe(),
            "2 calls, 30 tokens, $0.0000 and 1 call of unknown cost");
}

TEST(Budget, ZeroAllowsNothing) {
  BudgetLimits dollars, tokens, seconds;
  dollars.dollars = 0;
  tokens.tokens = 0;
  seconds.seconds = 0;
  for (const auto &[limits, words] :
       {std::pair{callsOnly(0), "the budget of 0 calls for the model is spent"},
        {dollars, "the budget of $0.00 for the model does not cover the next call"},
        {tokens, "the budget of 0 tokens for the model"},
        {seconds, "the budget of 0 s for the model is spent"}}) {
    Fixture fixture(always(replyWith("x")), limits);
    ExitStatus status;
    std::string text = errorText(fixture.model->complete(question("a")), &status);
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_EQ(status, ExitStatus::Budget);
    EXPECT_TRUE(fixture.inner->asked.empty());
  }
}

TEST(Budget, RolesHaveTheirOwn) {
  Fixture fixture(always(replyWith("x")), callsOnly(10), {{ModelRole::Planner, callsOnly(1)}});
  llvm::cantFail(fixture.model->complete(question("a", ModelRole::Planner)));
  std::string text = errorText(fixture.model->complete(question("b", ModelRole::Planner)));
  EXPECT_NE(text.find("the budget of 1 call for the role 'planner' is spent"), std::string::npos)
      << text;
  llvm::cantFail(fixture.model->complete(question("b")));
}

TEST(Budget, ReservesPromptAndMostTokensBeforeSending) {
  BudgetLimits limits;
  limits.tokens = 200;
  Fixture fixture(always(replyWith("x", 30, 20)), limits);
  ModelRequest request = question("0123456789");
  uint64_t most = mostPromptTokens(request) + 100;
  ASSERT_LT(most, 200u);
  llvm::cantFail(fixture.model->complete(request)); // 50 are used
  std::string text = errorText(fixture.model->complete(request));
  EXPECT_NE(text.find("50 are used, it can take " + std::to_string(most)), std::string::npos)
      << text;
  EXPECT_EQ(fixture.inner->asked.size(), 1u);
}

TEST(Budget, MostTokensIsAboveWhatTokenizersMake) {
  EXPECT_EQ(mostTokens("abcd"), 2u);
  EXPECT_EQ(mostTokens("abc"), 2u);
  EXPECT_EQ(mostTokens("\xe6\xbc\xa2"), 3u) << "one character, at most three tokens";
  TokenUsage usage = estimateUsage(question("12345678"), "1234");
  EXPECT_EQ(usage.completion, 1u);
  EXPECT_TRUE(usage.estimated);
}

TEST(Budget, ParallelCallsNeverOvershoot) {
  // Each call claims far more than it turns out to use: all have to be tried, none may be sent too
  // much.
  BudgetLimits limits;
  limits.tokens = 1000;
  limits.calls = 12;
  std::atomic<int> underWay{0}, most{0};
  Fixture fixture(
      [&](const ModelRequest &, size_t) -> llvm::Expected<ModelReply> {
        int now = ++underWay;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --underWay;
        return replyWith("x", 40, 30);
      },
      limits);
  std::atomic<unsigned> done{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        auto reply = fixture.model->complete(question("q"));
        if (!reply)
          llvm::consumeError(reply.takeError());
        ++(reply ? done : refused);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  ModelSpend total = fixture.budget->total();
  EXPECT_LE(total.usage.total(), 1000u);
  EXPECT_EQ(total.calls, done.load());
  EXPECT_EQ(done + refused, 40u);
  EXPECT_EQ(done, 12u) << "waiting calls get what others did not use";
  EXPECT_LE(most, 7);
}

TEST(Budget, WhatAServiceDidNotTakeIsNoCall) {
  Fixture fixture(
      [](const ModelRequest &, size_t number) -> llvm::Expected<ModelReply> {
        if (number == 0)
          return llvm::make_error<FailedCall>("limits the rate", 429, "", true);
        auto lost = std::make_unique<FailedCall>("cut off", 200, "", true);
        lost->lost.prompt = 60;
        lost->lost.estimated = true;
        return llvm::Error(std::move(lost));
      },
      callsOnly(1));
  EXPECT_NE(errorText(fixture.model->complete(question("a"))).find("limits"), std::string::npos);
  EXPECT_EQ(fixture.budget->total().calls, 0u);
  EXPECT_NE(errorText(fixture.model->complete(question("a"))).find("cut off"), std::string::npos);
  ModelSpend total = fixture.budget->total();
  EXPECT_EQ(total.calls, 1u) << "this one may have been charged for";
  EXPECT_EQ(total.failed, 1u);
  EXPECT_DOUBLE_EQ(total.dollars, 0.0006);
  EXPECT_NE(errorText(fixture.model->complete(question("a"))).find("budget"), std::string::npos);
}

TEST(Budget, SecondsLimitTheCallUnderWay) {
  BudgetLimits limits;
  limits.seconds = 10;
  FakeWaitingClock *clock = nullptr;
  Fixture fixture(
      [&](const ModelRequest &request, size_t number) -> llvm::Expected<ModelReply> {
        if (number == 0) {
          EXPECT_EQ(request.limitSeconds, 10);
          clock->sleepSeconds(4);
          return replyWith("x");
        }
        EXPECT_EQ(request.limitSeconds, 6);
        clock->sleepSeconds(6);
        return llvm::make_error<FailedCall>("did not finish its reply in time", 0, "", false);
      },
      limits);
  clock = &fixture.clock;
  llvm::cantFail(fixture.model->complete(question("a")));
  fixture.clock.sleepSeconds(100); // nothing is asked meanwhile: it does not count
  ExitStatus status;
  std::string text = errorText(fixture.model->complete(question("b")), &status);
  EXPECT_NE(text.find("the budget of 10 s for the model was spent before the reply came"),
            std::string::npos)
      << text;
  EXPECT_EQ(status, ExitStatus::Budget);
  EXPECT_EQ(fixture.budget->total().seconds, 10);
}
