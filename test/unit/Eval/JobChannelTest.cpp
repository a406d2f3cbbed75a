#include "kb-opt/Eval/JobChannel.h"
#include "SmallPlan.h"
#include "kb-opt/Support/Process.h"
#include "llvm/Support/FileSystem.h"
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

using namespace kbopt;
namespace fs = std::filesystem;

namespace {

struct ChannelTest : testing::Test {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("channel-test"));
  std::mutex mutex;
  std::vector<std::string> notices;
  JobRequest request;

  void SetUp() override {
    writeSmallPlan(folder.file("recording"));
    request.fields = llvm::json::Object{{"device", "cuda"}, {"timing", llvm::json::Object{}}};
    request.subject = {folder.file("recording/image.cubin"), folder.file("recording")};
  }
  NoticeFunction notice() {
    return [this](const std::string &text) {
      std::lock_guard<std::mutex> lock(mutex);
      notices.push_back(text);
    };
  }
  std::string errorOf(llvm::Error error) {
    std::string text;
    llvm::raw_string_ostream os(text);
    reportError(os, "kb-opt", std::move(error));
    return text;
  }
};

//===-- A pipe to a process ------------------------------------------------===//

struct ProcessChannelTest : ChannelTest {
  ProcessChannelOptions options;

  /// The server is the body of a shell function that is called with "serve -".
  std::unique_ptr<JobChannel> channel(const std::string &body) {
    std::string script = folder.file("server/bin/kb-run");
    llvm::cantFail(realFileSystem().createDirectories(folder.file("server/bin")));
    llvm::cantFail(realFileSystem().write(script, "#!/bin/sh\ncd " + folder.path().str() + "\n" +
                                                      body + "\n"));
    llvm::sys::fs::setPermissions(script, llvm::sys::fs::perms::all_all);
    options.directory = folder.file("exchange");
    options.kbRun = script;
    options.sandboxed = false;
    options.notice = notice();
    return llvm::cantFail(createProcessChannel(options));
  }
};

const char *const answering =
    R"(while read -r line; do echo '{"version": 1, "status": "ok"}'; done)";

TEST_F(ProcessChannelTest, OneServerAnswersManyJobs) {
  auto channel = this->channel("echo start >> starts\n" + std::string(answering));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(llvm::cantFail(channel->run(request)).result.getString("status"),
              llvm::StringRef("ok"));
  EXPECT_EQ(llvm::cantFail(realFileSystem().read(folder.file("starts"))), "start\n");
  EXPECT_TRUE(notices.empty());
}

TEST_F(ProcessChannelTest, AServerSeesTheGpuThatIsItsOwn) {
  options.card = "GPU-5";
  auto channel = this->channel("echo $CUDA_VISIBLE_DEVICES > card\n" + std::string(answering));
  llvm::cantFail(channel->run(request));
  EXPECT_EQ(llvm::cantFail(realFileSystem().read(folder.file("card"))), "GPU-5\n");
}

TEST_F(ProcessChannelTest, TheJobNamesItsFilesAndNotTheExpectedValues) {
  auto channel = this->channel(
      R"(read -r line; echo "$line" > job; ls exchange/in0 exchange/in0/baseline > files
cp exchange/in0/data.bin data; mkdir -p exchange/out/0; echo abc > exchange/out/0/observables.bin
echo '{"version": 1, "status": "ok"}'; cat)");
  request.baseline = request.subject;
  request.wantsOutputs = true;
  JobAnswer answer = llvm::cantFail(channel->run(request));
  EXPECT_EQ(answer.observables, "abc\n");
  std::string files = llvm::cantFail(realFileSystem().read(folder.file("files")));
  EXPECT_EQ(files.find("observables"), std::string::npos) << files;
  EXPECT_EQ(llvm::cantFail(realFileSystem().read(folder.file("data"))), "input");
  auto job =
      llvm::cantFail(llvm::json::parse(llvm::cantFail(realFileSystem().read(folder.file("job")))));
  EXPECT_EQ(job.getAsObject()->getString("plan"), llvm::StringRef(folder.file("exchange/in0")));
  EXPECT_TRUE(job.getAsObject()->getObject("timing")->getObject("baseline"));
  EXPECT_FALSE(fs::exists(folder.file("exchange/in0"))) << "files of a job go with it";
  EXPECT_FALSE(fs::exists(folder.file("exchange/out/0")));
}

TEST_F(ProcessChannelTest, ContentsStayReadableAfterTheirFolder) {
  auto channel = this->channel(
      R"(read -r line; mkdir -p exchange/out/0; head -c 100000 /dev/zero > exchange/out/0/aa-100000
echo abc > exchange/out/0/bb-4; echo '{"version": 1, "status": "ok", "contents": ["aa-100000", "bb-4"]}'; cat)");
  EXPECT_TRUE(channel->takesContents());
  request.wantsOutputs = true;
  JobAnswer answer = llvm::cantFail(channel->run(request));
  EXPECT_FALSE(fs::exists(folder.file("exchange/out/0")));
  ASSERT_EQ(answer.contents.size(), 2u);
  EXPECT_EQ(answer.contents["aa-100000"].str(), std::string(100000, '\0'));
  EXPECT_EQ(answer.contents["bb-4"].str(), "abc\n");
}

TEST_F(ProcessChannelTest, AServerThatDiesIsStartedAgainAndTheJobRepeated) {
  auto channel = this->channel(
      "if [ ! -e died ]; then read -r line; echo oops >&2; touch died; kill -9 $$; fi\n" +
      std::string(answering));
  EXPECT_EQ(llvm::cantFail(channel->run(request)).result.getString("status"),
            llvm::StringRef("ok"));
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("signal 9"), std::string::npos) << notices[0];
  EXPECT_NE(notices[0].find("oops"), std::string::npos) << notices[0];
}

TEST_F(ProcessChannelTest, AJobThatTakesTwoServersDownIsACrashAndTheNextOneRuns) {
  auto channel = this->channel(R"(while read -r line; do
case "$line" in *deadly*) exit 5;; *) echo '{"version": 1, "status": "ok"}';; esac; done)");
  request.fields["id"] = "deadly";
  JobAnswer answer = llvm::cantFail(channel->run(request));
  EXPECT_EQ(answer.result.getString("status"), llvm::StringRef("crash"));
  EXPECT_NE(answer.result.getString("message")->find("took down 2 servers"), llvm::StringRef::npos);
  EXPECT_NE(answer.result.getString("message")->find("exit status 5"), llvm::StringRef::npos);
  request.fields["id"] = "harmless";
  EXPECT_EQ(llvm::cantFail(channel->run(request)).result.getString("status"),
            llvm::StringRef("ok"));
}

TEST_F(ProcessChannelTest, AServerThatHangsIsATimeoutAndTheNextJobRuns) {
  options.graceSeconds = 0.2;
  auto channel = this->channel(R"(while read -r line; do
case "$line" in *endless*) sleep 100;; *) echo '{"version": 1, "status": "ok"}';; esac; done)");
  request.fields["id"] = "endless";
  request.limitSeconds = 0.1;
  EXPECT_EQ(llvm::cantFail(channel->run(request)).result.getString("status"),
            llvm::StringRef("timeout"));
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("no answer"), std::string::npos) << notices[0];
  request.limitSeconds = 0;
  request.fields["id"] = "short";
  EXPECT_EQ(llvm::cantFail(channel->run(request)).result.getString("status"),
            llvm::StringRef("ok"));
}

TEST_F(ProcessChannelTest, GarbageIsAnErrorAndTheNextJobAsksANewServer) {
  auto channel =
      this->channel("if [ ! -e once ]; then touch once; read -r line; echo 'no json'; cat; fi\n" +
                    std::string(answering));
  EXPECT_NE(errorOf(channel->run(request).takeError()).find("gave no result"), std::string::npos);
  EXPECT_EQ(llvm::cantFail(channel->run(request)).result.getString("status"),
            llvm::StringRef("ok"));
  std::unique_ptr<JobChannel> other =
      this->channel(R"(while read -r line; do echo '{"version": 2, "status": "ok"}'; done)");
  EXPECT_NE(errorOf(other->run(request).takeError()).find("no version 1"), std::string::npos);
}

TEST_F(ProcessChannelTest, AnswersAreBounded) {
  options.mostResultBytes = 1000;
  options.attempts = 1;
  auto channel =
      this->channel("read -r line; while :; do echo -n aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done");
  JobAnswer answer = llvm::cantFail(channel->run(request));
  EXPECT_EQ(answer.result.getString("status"), llvm::StringRef("crash"));
  EXPECT_NE(answer.result.getString("message")->find("more than 1000 bytes"),
            llvm::StringRef::npos);
}

TEST_F(ProcessChannelTest, NoServerIsAnError) {
  auto channel = this->channel("");
  fs::remove(folder.file("server/bin/kb-run"));
  EXPECT_NE(errorOf(channel->run(request).takeError()).find("kb-run does not start"),
            std::string::npos);
}

TEST_F(ProcessChannelTest, WallsHideTheRecording) {
  if (llvm::Error error = checkSandbox(realProcessRunner()))
    GTEST_SKIP() << llvm::toString(std::move(error));
  (void)this->channel("exec 2>/dev/null; read -r line; here=$(cat exchange/in0/data.bin); "
                      "there=$(cat recording/data.bin)\n"
                      R"(echo "{\"version\": 1, \"status\": \"$here/$there\"}"; cat)");
  options.sandboxed = true;
  auto channel = llvm::cantFail(createProcessChannel(options));
  EXPECT_EQ(llvm::cantFail(channel->run(request)).result.getString("status"),
            llvm::StringRef("input/"));
}

TEST_F(ProcessChannelTest, ManyThreadsWaitForEachOther) {
  auto channel = this->channel(answering);
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      JobRequest mine = request;
      answered +=
          llvm::cantFail(channel->run(mine)).result.getString("status") == llvm::StringRef("ok");
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(answered, 4);
}

//===-- A spool folder ------------------------------------------------------===//

/// Plays a server: answers what lies in jobs/ until it is destroyed.
class Server {
public:
  Server(std::string root, std::string result)
      : root(std::move(root)), result(std::move(result)), thread([this] { serve(); }) {}
  ~Server() {
    ends = true;
    thread.join();
  }
  std::atomic<int> answered = 0;
  std::atomic<bool> drops = false; ///< takes jobs away and says nothing

private:
  void serve() {
    while (!ends) {
      std::error_code code;
      for (const auto &entry : fs::directory_iterator(root + "/jobs", code)) {
        std::string name = entry.path().stem().string();
        if (entry.path().extension() != ".json")
          continue;
        fs::rename(entry.path(), root + "/claims/" + name + ".json", code);
        if (!drops) {
          fs::create_directories(root + "/outputs/" + name, code);
          llvm::cantFail(
              realFileSystem().write(root + "/outputs/" + name + "/observables.bin", "seen"));
          llvm::cantFail(realFileSystem().write(root + "/results/" + name + ".json", result));
          ++answered;
        }
        fs::remove(root + "/claims/" + name + ".json", code);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::string root, result;
  std::atomic<bool> ends = false;
  std::thread thread;
};

struct SpoolChannelTest : ChannelTest {
  SpoolChannelOptions options;
  std::unique_ptr<JobChannel> channel;

  void SetUp() override {
    ChannelTest::SetUp();
    options.directory = folder.file("spool");
    options.notice = notice();
    options.noticeSeconds = 0.1;
    options.giveUpSeconds = 0.5;
    fs::create_directories(options.directory);
    channel = llvm::cantFail(createSpoolChannel(options));
  }
  std::vector<std::string> names(const std::string &kind) {
    return realFileSystem().list(options.directory + "/" + kind);
  }
};

const char *const okText = R"({"version": 1, "status": "ok"})";

TEST_F(SpoolChannelTest, FilesTravelByDigestAndResultsAreTakenAway) {
  request.wantsOutputs = true;
  request.baseline = request.subject;
  {
    Server server(options.directory, okText);
    JobAnswer answer = llvm::cantFail(channel->run(request));
    EXPECT_EQ(answer.result.getString("status"), llvm::StringRef("ok"));
    EXPECT_EQ(answer.observables, "seen");
  }
  EXPECT_EQ(names("blobs").size(), 2u) << "the image and data.bin, once";
  EXPECT_EQ(names("plans").size(), 1u);
  for (const char *kind : {"jobs", "claims", "results", "outputs"})
    EXPECT_TRUE(names(kind).empty()) << kind;
}

TEST_F(SpoolChannelTest, NobodyAnswers) {
  std::string text = errorOf(channel->run(request).takeError());
  EXPECT_NE(text.find("no kb-run has answered"), std::string::npos) << text;
  EXPECT_NE(text.find("kb-run serve"), std::string::npos) << text;
  ASSERT_EQ(notices.size(), 1u) << "told once";
  EXPECT_EQ(names("jobs").size(), 1u) << "the job stays";
}

TEST_F(SpoolChannelTest, WhoAsksAgainFindsTheAnswer) {
  llvm::consumeError(channel->run(request).takeError());
  std::string job = names("jobs").at(0);
  fs::remove(options.directory + "/jobs/" + job);
  llvm::cantFail(realFileSystem().write(options.directory + "/results/" + job, okText));
  auto again = llvm::cantFail(createSpoolChannel(options));
  EXPECT_EQ(llvm::cantFail(again->run(request)).result.getString("status"), llvm::StringRef("ok"));
  EXPECT_TRUE(names("jobs").empty());
  EXPECT_TRUE(names("results").empty());
}

TEST_F(SpoolChannelTest, AnOldAnswerAboutTheMachineIsAskedAgain) {
  llvm::consumeError(channel->run(request).takeError());
  std::string job = names("jobs").at(0);
  fs::remove(options.directory + "/jobs/" + job);
  llvm::cantFail(realFileSystem().write(options.directory + "/results/" + job,
                                        R"({"version": 1, "status": "environment"})"));
  Server server(options.directory, okText);
  EXPECT_EQ(llvm::cantFail(channel->run(request)).result.getString("status"),
            llvm::StringRef("ok"));
}

TEST_F(SpoolChannelTest, EqualJobsAtOnceAreTwoJobs) {
  Server server(options.directory, okText);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      JobRequest mine = request;
      llvm::cantFail(channel->run(mine));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(server.answered, 2);
}

TEST_F(SpoolChannelTest, AThiefIsFoundOut) {
  Server server(options.directory, okText);
  server.drops = true;
  EXPECT_NE(errorOf(channel->run(request).takeError()).find("vanishes"), std::string::npos);
}

TEST_F(SpoolChannelTest, AFolderThatGoesAwayIsAnError) {
  options.giveUpSeconds = 60;
  channel = llvm::cantFail(createSpoolChannel(options));
  std::thread remover([&] {
    while (names("jobs").empty())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    fs::remove_all(options.directory);
  });
  std::string text = errorOf(channel->run(request).takeError());
  remover.join();
  EXPECT_NE(text.find("is gone"), std::string::npos) << text;
}

TEST_F(SpoolChannelTest, GarbageIsAnError) {
  Server server(options.directory, "what?");
  EXPECT_NE(errorOf(channel->run(request).takeError()).find("gave no result"), std::string::npos);
}

TEST(SpoolChannel, NeedsItsFolder) {
  SpoolChannelOptions options;
  options.directory = "no/such/folder";
  auto channel = createSpoolChannel(options);
  ASSERT_FALSE(bool(channel));
  EXPECT_NE(llvm::toString(channel.takeError()).find("no spool folder 'no/such/folder'"),
            std::string::npos);
}

} // namespace
