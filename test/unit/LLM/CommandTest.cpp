#include "TestModels.h"
#include "kb-opt/LLM/CreateModel.h"
#include "gtest/gtest.h"

using namespace kbopt;

static std::unique_ptr<AccountedModel> command(
    const std::string &text, FakeWaitingClock &clock,
    std::function<void(ModelSettings &)> change = [](ModelSettings &) {}) {
  ModelSettings settings;
  settings.provider = {ProviderKind::Command, text};
  change(settings);
  ModelWorld world{.clock = clock};
  return llvm::cantFail(createModel(settings, world));
}

TEST(Command, PromptOnStdinReplyOnStdout) {
  FakeWaitingClock clock;
  auto model = command("cat; echo $KBOPT_ROLE $KBOPT_MODEL $KBOPT_MAX_TOKENS $KBOPT_TEMPERATURE "
                       ">&2; echo $KBOPT_ROLE-$KBOPT_MODEL-$KBOPT_MAX_TOKENS-$KBOPT_REQUEST",
                       clock, [](ModelSettings &settings) {
                         settings.roles[ModelRole::Coder].model = "mine";
                         settings.defaults.maxTokens = 77;
                       });
  ModelRequest request = question("What now?");
  ModelReply reply = llvm::cantFail(model->complete(request));
  EXPECT_NE(reply.text.find("===\nWhat now?\n"), std::string::npos);
  EXPECT_NE(reply.text.find("\ncoder-mine-77-" + request.digest() + "\n"), std::string::npos);
  EXPECT_TRUE(reply.usage.estimated);
  EXPECT_EQ(reply.model, "mine");
  EXPECT_EQ(model->total().calls, 1u);
}

TEST(Command, FailuresSayWhatTheCommandSaid) {
  FakeWaitingClock clock;
  auto fails = [&](
                   const char *text,
                   std::function<void(ModelSettings &)> change = [](ModelSettings &) {}) {
    return errorText(command(text, clock, change)->complete(question("a")));
  };
  EXPECT_EQ(fails("echo no such model >&2; exit 3"),
            "kb-opt: error: the command 'echo no such model >&2; exit 3' ended with exit status 3: "
            "no such model\n"
            "kb-opt: note: it gets the request on stdin, prints the reply and ends with status 0 "
            "(docs/Model.md)\n");
  EXPECT_NE(fails("no-such-program-here").find("exit status 127"), std::string::npos);
  EXPECT_NE(fails("true").find("printed nothing"), std::string::npos);
  EXPECT_NE(fails("kill -9 $$").find("signal 9"), std::string::npos);
  EXPECT_NE(fails("sleep 60", [](ModelSettings &settings) { settings.timeouts.total = 0.2; })
                .find("no end within"),
            std::string::npos);
  EXPECT_NE(
      fails("head -c 5000 /dev/zero", [](ModelSettings &settings) { settings.replyBytes = 1024; })
          .find("printed more than 1024 bytes"),
      std::string::npos);
  EXPECT_TRUE(clock.waits().empty()) << "none of these is tried again";
}

TEST(Command, Status75IsTriedAgain) {
  auto folder = llvm::cantFail(TemporaryDirectory::create("kbopt-command"));
  FakeWaitingClock clock;
  auto model = command("cd '" + folder.path().str() +
                           "'; echo x >> n; test $(wc -l < n) -ge 3 || exit 75; echo ok",
                       clock);
  EXPECT_EQ(llvm::cantFail(model->complete(question("a"))).text, "ok\n");
  EXPECT_EQ(clock.waits().size(), 2u);
  EXPECT_EQ(model->total().failed, 2u);
}

TEST(Command, LargePromptsToCommandsThatDoNotRead) {
  FakeWaitingClock clock;
  auto model = command("echo short", clock);
  EXPECT_EQ(llvm::cantFail(model->complete(question(std::string(1 << 20, 'x')))).text, "short\n");
}
