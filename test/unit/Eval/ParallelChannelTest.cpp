//===- ParallelChannelTest.cpp - Which of several channels does a job -----===//
#include "kb-opt/Eval/JobChannel.h"
#include "gtest/gtest.h"
#include <future>
#include <thread>

using namespace kbopt;

namespace {

/// Notes the sessions that it was asked for. The session "slow" ends when `mayEnd` is set.
class FakeChannel : public JobChannel {
public:
  FakeChannel(std::vector<std::string> &asked, std::promise<void> &began,
              std::shared_future<void> mayEnd)
      : asked(asked), began(began), mayEnd(std::move(mayEnd)) {}
  llvm::Expected<JobAnswer> run(const JobRequest &request) override {
    asked.push_back(request.fields.getString("session").value_or("none").str());
    if (asked.back() == "slow") {
      began.set_value();
      mayEnd.wait();
    }
    return JobAnswer();
  }

private:
  std::vector<std::string> &asked;
  std::promise<void> &began;
  std::shared_future<void> mayEnd;
};

class ParallelChannelTest : public testing::Test {
protected:
  void SetUp() override {
    std::vector<std::vector<std::unique_ptr<JobChannel>>> cards(1);
    std::shared_future<void> ends = mayEnd.get_future().share();
    for (std::vector<std::string> &each : asked)
      cards.front().push_back(std::make_unique<FakeChannel>(each, began, ends));
    channel = createParallelChannel(std::move(cards),
                                    std::make_unique<FakeChannel>(counted, began, ends));
  }
  void askOf(const char *session) { ask(llvm::json::Object{{"session", session}}); }
  void ask(llvm::json::Object fields = llvm::json::Object()) {
    JobRequest request;
    request.fields = std::move(fields);
    llvm::cantFail(channel->run(request));
  }

  std::vector<std::string> asked[3], counted;
  std::promise<void> began, mayEnd;
  std::unique_ptr<JobChannel> channel;
};

TEST_F(ParallelChannelTest, NoJobWaitsWhileAChannelIsFree) {
  std::thread slow([&] { askOf("slow"); });
  began.get_future().wait();
  askOf("image"); // would never end behind the slow one
  askOf("slower");
  mayEnd.set_value();
  slow.join();
  EXPECT_EQ(asked[0], std::vector<std::string>{"slow"});
}

TEST_F(ParallelChannelTest, AJobGoesWhereItsSessionWas) {
  std::thread slow([&] { askOf("slow"); });
  began.get_future().wait();
  askOf("image");
  mayEnd.set_value();
  slow.join();
  askOf("image"); // the first is free again
  EXPECT_EQ(asked[1], (std::vector<std::string>{"image", "image"}));
}

TEST_F(ParallelChannelTest, AllJobsOfManyAreDone) {
  mayEnd.set_value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int again = 0; again < 50; ++again)
        askOf(("image " + std::to_string(i)).c_str());
    });
  for (std::thread &each : threads)
    each.join();
  EXPECT_EQ(asked[0].size() + asked[1].size() + asked[2].size(), 400u);
}

TEST_F(ParallelChannelTest, CountersAreReadByOneThatDoesNothingElse) {
  ask(llvm::json::Object{{"session", "image"}, {"profile", llvm::json::Object()}});
  EXPECT_EQ(counted, std::vector<std::string>{"image"});
  for (const std::vector<std::string> &each : asked)
    EXPECT_TRUE(each.empty());
}

TEST_F(ParallelChannelTest, AJobWithoutASessionIsDone) {
  ask();
  EXPECT_EQ(asked[0], std::vector<std::string>{"none"});
}

TEST_F(ParallelChannelTest, AJobGoesToTheGpuThatHasFewest) {
  std::vector<std::vector<std::unique_ptr<JobChannel>>> cards(2);
  std::promise<void> ends;
  std::shared_future<void> end = ends.get_future().share();
  std::vector<std::string> first[2], second;
  for (std::vector<std::string> &each : first)
    cards[0].push_back(std::make_unique<FakeChannel>(each, began, end));
  cards[1].push_back(std::make_unique<FakeChannel>(second, began, end));
  channel =
      createParallelChannel(std::move(cards), std::make_unique<FakeChannel>(counted, began, end));
  std::thread slow([&] { askOf("slow"); });
  began.get_future().wait();
  askOf("image");
  ends.set_value();
  slow.join();
  EXPECT_EQ(first[0], std::vector<std::string>{"slow"});
  EXPECT_TRUE(first[1].empty());
  EXPECT_EQ(second, std::vector<std::string>{"image"});
}

} // namespace
