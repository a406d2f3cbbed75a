//===- CardsScreenTest.cpp - Which of several GPUs screens a candidate ------===//
#include "kb-opt/Screen/Screen.h"
#include "kb-opt/Support/Error.h"
#include "gtest/gtest.h"
#include <future>
#include <thread>

using namespace kbopt;

namespace {

/// Screens the candidate "slow" until `mayEnd` is set.
struct FakeCard : ScreenDevice {
  FakeCard(std::promise<void> &began, std::shared_future<void> mayEnd)
      : began(began), mayEnd(std::move(mayEnd)) {}
  llvm::Expected<ScreenReport> open(const ScreenSubject &, const ScreenRequest &) override {
    if (isBroken)
      return llvm::make_error<ToolError>("no memory", std::vector<std::string>{"kb-run"}, 3, "");
    return opened;
  }
  llvm::Expected<ScreenReport> screen(const ScreenSubject &candidate,
                                      const ScreenRequest &) override {
    screened.push_back(candidate.cubinPath);
    if (candidate.cubinPath == "slow") {
      began.set_value();
      mayEnd.wait();
    }
    return ScreenReport();
  }

  std::promise<void> &began;
  std::shared_future<void> mayEnd;
  ScreenReport opened;
  bool isBroken = false;
  std::vector<std::string> screened;
};

struct CardsScreenTest : testing::Test {
  std::promise<void> began, mayEnd;
  FakeCard *cards[2];
  std::unique_ptr<ScreenDevice> screen;

  void SetUp() override {
    std::vector<std::unique_ptr<ScreenDevice>> devices;
    std::shared_future<void> ends = mayEnd.get_future().share();
    for (FakeCard *&card : cards) {
      auto made = std::make_unique<FakeCard>(began, ends);
      card = made.get();
      devices.push_back(std::move(made));
    }
    screen = createCardsScreen(std::move(devices));
  }
};

TEST_F(CardsScreenTest, ACandidateGoesToTheCardThatDoesNothing) {
  std::thread slow([&] { llvm::cantFail(screen->screen({"slow", {}}, {})); });
  began.get_future().wait();
  for (const char *each : {"a", "b"}) // would never end behind the slow one
    llvm::cantFail(screen->screen({each, {}}, {}));
  mayEnd.set_value();
  slow.join();
  EXPECT_EQ(cards[0]->screened, std::vector<std::string>{"slow"});
  EXPECT_EQ(cards[1]->screened, (std::vector<std::string>{"a", "b"}));
}

TEST_F(CardsScreenTest, OpeningTakesAllOfThem) {
  EXPECT_EQ(llvm::cantFail(screen->open({}, {})).status, RunStatus::Ok);
  cards[1]->opened.status = RunStatus::Fault;
  EXPECT_EQ(llvm::cantFail(screen->open({}, {})).status, RunStatus::Fault);
  cards[1]->isBroken = true;
  auto report = screen->open({}, {});
  ASSERT_FALSE(bool(report));
  EXPECT_NE(llvm::toString(report.takeError()).find("no memory"), std::string::npos);
}

} // namespace
