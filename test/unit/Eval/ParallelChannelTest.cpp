//===- ParallelChannelTest.cpp - Which of several channels does a job -----===//
#include "kb-opt/Eval/JobChannel.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

/// Notes the sessions that it was asked for.
class FakeChannel : public JobChannel {
public:
  explicit FakeChannel(std::vector<std::string> &asked) : asked(asked) {}
  llvm::Expected<JobAnswer> run(const JobRequest &request) override {
    asked.push_back(request.fields.getString("session").value_or("none").str());
    return JobAnswer();
  }

private:
  std::vector<std::string> &asked;
};

class ParallelChannelTest : public testing::Test {
protected:
  void SetUp() override {
    std::vector<std::unique_ptr<JobChannel>> others;
    for (std::vector<std::string> &each : asked)
      others.push_back(std::make_unique<FakeChannel>(each));
    channel = createParallelChannel(std::move(others), std::make_unique<FakeChannel>(counted));
  }
  void ask(llvm::json::Object fields = llvm::json::Object()) {
    JobRequest request;
    request.fields = std::move(fields);
    llvm::cantFail(channel->run(request));
  }

  std::vector<std::string> asked[3], counted;
  std::unique_ptr<JobChannel> channel;
};

TEST_F(ParallelChannelTest, JobsOfOneSessionGoTheSameWay) {
  for (int i = 0; i < 64; ++i)
    for (int again = 0; again < 2; ++again)
      ask(llvm::json::Object{{"session", "image " + std::to_string(i)}});
  size_t all = 0;
  for (const std::vector<std::string> &each : asked) {
    EXPECT_FALSE(each.empty());
    for (size_t i = 0; i + 1 < each.size(); i += 2)
      EXPECT_EQ(each[i], each[i + 1]);
    all += each.size();
  }
  EXPECT_EQ(all, 128u);
  EXPECT_TRUE(counted.empty());
}

TEST_F(ParallelChannelTest, CountersAreReadByOneThatDoesNothingElse) {
  ask(llvm::json::Object{{"session", "image"}, {"profile", llvm::json::Object()}});
  EXPECT_EQ(counted, std::vector<std::string>{"image"});
  for (const std::vector<std::string> &each : asked)
    EXPECT_TRUE(each.empty());
}

TEST_F(ParallelChannelTest, JobsWithoutASessionGoToTheFirst) {
  ask();
  EXPECT_EQ(asked[0], std::vector<std::string>{"none"});
}

} // namespace
