//===- ResumeTest.cpp - A search that is killed and started again ---------===//
//
// The policy over the journal: a child process searches, each of its effects
// appends a line to a file, and it is killed after some of them. Started again
// often enough it must tell the story of a run that nobody killed, and must have
// finished no effect twice.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Policy/Search.h"
#include "kb-opt/Store/Journal.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Random.h"
#include "gtest/gtest.h"
#include <cmath>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace kbopt;

namespace {

/// Programs are the text of their moves; the time of one is the journal's answer.
class JournalledEnvironment : public Environment {
public:
  JournalledEnvironment(Journal &journal, std::string effects, unsigned killAfter)
      : journal(journal), effects(std::move(effects)), killAfter(killAfter) {}

  NodeId root() override { return "program"; }
  llvm::Expected<std::vector<Action>> actions(const NodeId &node) override {
    std::vector<Action> result;
    for (const char *pass :
         {"coalesce-accesses", "unroll-loop", "vectorize-loads", "hoist-loop-invariant"})
      if (node.find(pass) == std::string::npos)
        result.push_back({pass, "k", 0, {{"n", {"1", "2", "4"}, "2"}}});
    return result;
  }
  llvm::Expected<StepOutcome> apply(const NodeId &node, const Step &move) override {
    StepOutcome made;
    made.applied = true;
    made.node = node + "," + move.text();
    made.code = digestOf(made.node);
    return made;
  }
  llvm::Expected<NodeJudgement> judge(const NodeId &node) override {
    llvm::Expected<std::string> answer =
        journal.getOrCompute("judge", digestOf(node), [&] { return measure(node); });
    if (!answer)
      return answer.takeError();
    NodeJudgement judgement;
    judgement.verdict = VerdictKind::Correct;
    judgement.code = digestOf(node);
    judgement.timeUs = std::stod(*answer);
    judgement.state.primary = "uncoalesced_access";
    judgement.state.shares.push_back({"uncoalesced_access", 0.5, false, ""});
    return judgement;
  }

private:
  llvm::Expected<std::string> measure(const NodeId &node) {
    // Somewhere inside the effect, before it is finished.
    if (killAfter && killAfter-- == 1)
      raise(SIGKILL);
    llvm::cantFail(realFileSystem().appendLine(effects, node));
    return std::to_string(50 +
                          static_cast<double>(Random(node.size()).fork(node).below(1000)) / 10);
  }

  Journal &journal;
  std::string effects;
  unsigned killAfter;
};

/// Writes what the search found to \p story; is killed in its \p killAfter-th
/// effect (0: never).
int searchIn(const std::string &folder, const std::string &story, unsigned killAfter) {
  llvm::Expected<std::unique_ptr<Journal>> journal = Journal::open(folder + "/journal.db");
  if (!journal)
    return 2;
  JournalledEnvironment environment(**journal, folder + "/effects", killAfter);
  SearchOptions options;
  options.trajectories = 6;
  options.steps = 4;
  FakeClock clock;
  KnowledgeBase knowledge(llvm::cantFail(loadChip("h200")));
  llvm::Expected<SearchResult> result =
      llvm::cantFail(createStrategy("rollout"))->run(environment, knowledge, options, clock);
  if (!result)
    return 3;
  std::string text = result->best + "\n";
  for (const Evidence &record : result->evidence)
    text += record.toLine() + "\n";
  return llvm::errorToBool(realFileSystem().write(folder + "/" + story, text)) ? 4 : 0;
}

int inChild(const std::string &folder, const std::string &story, unsigned killAfter) {
  pid_t child = fork();
  if (child == 0)
    _exit(searchIn(folder, story, killAfter));
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string read(const std::string &path) { return llvm::cantFail(realFileSystem().read(path)); }

} // namespace

TEST(Resume, AKilledSearchGoesOnAndRepeatsNothing) {
  TemporaryDirectory straight = llvm::cantFail(TemporaryDirectory::create("straight"));
  ASSERT_EQ(inChild(straight.path().str(), "story", 0), 0);
  std::string story = read(straight.file("story")), effects = read(straight.file("effects"));
  ASSERT_GT(llvm::StringRef(effects).count('\n'), 15u);

  TemporaryDirectory broken = llvm::cantFail(TemporaryDirectory::create("broken"));
  Random random(5);
  unsigned kills = 0;
  for (int status = -SIGKILL; status == -SIGKILL; ++kills)
    status = inChild(broken.path().str(), "story", 1 + static_cast<unsigned>(random.below(5)));
  EXPECT_GT(kills, 4u);
  EXPECT_EQ(read(broken.file("story")), story);
  // The same effects in the same order, each of them once.
  EXPECT_EQ(read(broken.file("effects")), effects);
}
