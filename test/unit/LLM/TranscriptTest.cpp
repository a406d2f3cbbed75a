#include "kb-opt/LLM/Transcript.h"
#include "TestModels.h"
#include "gtest/gtest.h"
#include <thread>

using namespace kbopt;

namespace {
ModelReply fullReply() {
  ModelReply reply = replyWith("text with\nlines and \xff", 100, 20);
  reply.end = ReplyEnd::Truncated;
  reply.usage.cached = 40;
  reply.usage.estimated = true;
  reply.model = "m-1";
  reply.requestId = "req_1";
  reply.seconds = 1.5;
  reply.cost = 0.25;
  return reply;
}
std::unique_ptr<Model> recording(FakeFileSystem &files, FunctionModel::Answer answer) {
  return llvm::cantFail(
      makeRecorder(std::make_unique<FunctionModel>(std::move(answer)), "t.jsonl", files));
}
} // namespace

TEST(Transcript, RecordedAndReplayed) {
  FakeFileSystem files;
  auto recorder = recording(files, [](const ModelRequest &, size_t) -> llvm::Expected<ModelReply> {
    return fullReply();
  });
  ModelRequest request = question("go");
  request.schema = "{}";
  request.messages.push_back({ModelMessage::Speaker::Model, "what?"});
  request.messages.push_back({ModelMessage::Speaker::User, "go on"});
  llvm::cantFail(recorder->complete(request));
  EXPECT_EQ(llvm::StringRef(files.files["t.jsonl"]).count('\n'), 1u);
  auto replay = llvm::cantFail(makeReplay("t.jsonl", files));
  ModelReply reply = llvm::cantFail(replay->complete(request));
  EXPECT_EQ(reply.text, "text with\nlines and \xef\xbf\xbd");
  EXPECT_EQ(reply.end, ReplyEnd::Truncated);
  EXPECT_EQ(reply.usage.prompt, 100u);
  EXPECT_EQ(reply.usage.cached, 40u);
  EXPECT_TRUE(reply.usage.estimated);
  EXPECT_EQ(reply.model, "m-1");
  EXPECT_EQ(reply.requestId, "req_1");
  EXPECT_EQ(reply.cost, 0.25);
}

TEST(Transcript, EqualRequestsGetTheirRepliesInOrder) {
  FakeFileSystem files;
  auto recorder =
      recording(files, [](const ModelRequest &, size_t n) -> llvm::Expected<ModelReply> {
        return replyWith(std::to_string(n));
      });
  ModelRequest second = question("go");
  second.sample = "2";
  llvm::cantFail(recorder->complete(question("go")));
  llvm::cantFail(recorder->complete(question("go")));
  llvm::cantFail(recorder->complete(second));
  auto replay = llvm::cantFail(makeReplay("t.jsonl", files));
  EXPECT_EQ(llvm::cantFail(replay->complete(second)).text, "2");
  for (const char *expected : {"0", "1", "1"})
    EXPECT_EQ(llvm::cantFail(replay->complete(question("go"))).text, expected);
}

TEST(Transcript, ALackingRequestNamesTheNearest) {
  FakeFileSystem files;
  auto recorder = recording(files, [](const ModelRequest &, size_t) -> llvm::Expected<ModelReply> {
    return replyWith("x");
  });
  ModelRequest near = question("first line\nsecond line, old\n"), far = question("else");
  llvm::cantFail(recorder->complete(far));
  llvm::cantFail(recorder->complete(near));
  auto replay = llvm::cantFail(makeReplay("t.jsonl", files));
  ModelRequest request = question("first line\nsecond line, new\n");
  ExitStatus status;
  std::string text = errorText(replay->complete(request), &status);
  EXPECT_EQ(text, "kb-opt: error: 't.jsonl' has no reply to request " + request.digest() +
                      " of the coder; the nearest is " + near.digest() +
                      ", which has 'second line, old' where this one has 'second line, new'\n"
                      "kb-opt: note: the program, the options or kb-opt are not those of the "
                      "recording; record anew with --llm=PROVIDER "
                      "--llm-record=t.jsonl\n");
  EXPECT_EQ(status, ExitStatus::Environment);
  EXPECT_NE(errorText(replay->complete(question("x", ModelRole::Updater)))
                .find("of the updater; none of its 2 requests is of this role"),
            std::string::npos);
}

TEST(Transcript, ThreadsAppendWholeLines) {
  auto folder = llvm::cantFail(TemporaryDirectory::create("kbopt-transcript"));
  std::string file = folder.file("new/t.jsonl");
  auto recorder = llvm::cantFail(
      makeRecorder(std::make_unique<FunctionModel>(
                       [](const ModelRequest &r, size_t) -> llvm::Expected<ModelReply> {
                         return replyWith(r.messages[0].text + std::string(5000, 'x'));
                       }),
                   file, realFileSystem()));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i)
        llvm::cantFail(recorder->complete(question(std::to_string(t * 10 + i) + ":")));
    });
  for (std::thread &thread : threads)
    thread.join();
  auto entries = llvm::cantFail(readTranscript(realFileSystem(), file));
  EXPECT_EQ(entries.size(), 80u);
  auto replay = llvm::cantFail(makeReplay(file, realFileSystem()));
  for (int i = 0; i < 80; ++i)
    EXPECT_TRUE(
        llvm::StringRef(llvm::cantFail(replay->complete(question(std::to_string(i) + ":"))).text)
            .starts_with(std::to_string(i) + ":x"));
}

TEST(Transcript, DamageIsNamedByLine) {
  FakeFileSystem files;
  auto recorder = recording(files, [](const ModelRequest &, size_t) -> llvm::Expected<ModelReply> {
    return replyWith("x");
  });
  llvm::cantFail(recorder->complete(question("a")));
  std::string good = files.files["t.jsonl"];
  auto text = [&](std::string bytes) {
    files.files["t.jsonl"] = std::move(bytes);
    return errorText(makeReplay("t.jsonl", files));
  };
  EXPECT_NE(text(good + "{\n").find("error: t.jsonl:2: no JSON"), std::string::npos);
  EXPECT_NE(text(good + "[]\n").find("t.jsonl:2: expected an object"), std::string::npos);
  EXPECT_NE(text("{\"version\":9}\n").find("expected version 1"), std::string::npos);
  EXPECT_NE(
      text("{\"version\":1,\"role\":\"coder\"}\n").find("expected digest, role, request and reply"),
      std::string::npos);
  std::string changed = good;
  changed.replace(changed.find("You write"), 9, "You break");
  EXPECT_NE(text(changed).find("t.jsonl:1: the request was changed"), std::string::npos);
  EXPECT_EQ(text(good + good.substr(0, 40)), "no error")
      << "half a line at the end: the writer was killed";
  EXPECT_NE(errorText(makeReplay("none.jsonl", files)).find("cannot read 'none.jsonl'"),
            std::string::npos);
}

TEST(Transcript, HalfALineIsDroppedBeforeMoreIsAppended) {
  FakeFileSystem files;
  auto answer = [](const ModelRequest &, size_t) -> llvm::Expected<ModelReply> {
    return replyWith("x");
  };
  llvm::cantFail(recording(files, answer)->complete(question("a")));
  files.files["t.jsonl"] += "{\"version\":1,\"dig";
  llvm::cantFail(recording(files, answer)->complete(question("b")));
  EXPECT_EQ(llvm::cantFail(readTranscript(files, "t.jsonl")).size(), 2u);
}

TEST(Transcript, AFullDiskIsSaid) {
  FakeFileSystem files;
  auto recorder = recording(files, [](const ModelRequest &, size_t) -> llvm::Expected<ModelReply> {
    return replyWith("x");
  });
  files.failWrites = true;
  EXPECT_NE(errorText(recorder->complete(question("a"))).find("no space left"), std::string::npos);
}
