//===- ProcessesTest.cpp - Several processes, kills and a full disk -------===//
#include "kb-opt/Store/Journal.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Random.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kbopt;

namespace {

std::string answerTo(unsigned request) {
  return std::to_string(request) + ":" + std::string(500 + request % 700, 'a' + request % 26);
}

/// Runs \p body in a child process that ends with its result.
template <typename Body> pid_t inChild(Body body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  return child;
}

int exitOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

struct Place {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("journal"));
  std::string path = folder.file("journal.db");
};

} // namespace

TEST(JournalProcesses, SeveralWritersLoseNothing) {
  Place place;
  std::vector<pid_t> children;
  for (unsigned writer = 0; writer != 4; ++writer)
    children.push_back(inChild([&] {
      llvm::Expected<std::unique_ptr<Journal>> journal = Journal::open(place.path);
      if (!journal)
        return 2;
      // Neighbours ask half of each other's requests.
      for (unsigned i = writer * 10; i != writer * 10 + 20; ++i) {
        llvm::Expected<std::string> answer =
            (*journal)->getOrCompute("judge", std::to_string(i),
                                     [&]() -> llvm::Expected<std::string> { return answerTo(i); });
        if (!answer || *answer != answerTo(i))
          return 3;
      }
      return 0;
    }));
  for (pid_t child : children)
    EXPECT_EQ(exitOf(child), 0);
  std::unique_ptr<Journal> journal = llvm::cantFail(Journal::open(place.path));
  for (unsigned i = 0; i != 50; ++i)
    EXPECT_EQ(llvm::cantFail(journal->find("judge", std::to_string(i))).value_or(""), answerTo(i))
        << i;
}

// A child stores answers and tells each one that `put` has returned for; it is
// killed at different moments, and everything it told of must be there.
TEST(JournalProcesses, AKillLosesNothingThatWasStored) {
  Place place;
  Random random(1);
  unsigned told = 0;
  for (unsigned round = 0; round != 12; ++round) {
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    pid_t child = inChild([&] {
      llvm::Expected<std::unique_ptr<Journal>> journal = Journal::open(place.path);
      if (!journal)
        return 2;
      for (unsigned i = told;; ++i) {
        if (llvm::Error error = (*journal)->put("compile", std::to_string(i), answerTo(i)))
          return 3;
        if (write(pipes[1], "x", 1) != 1)
          return 4;
      }
    });
    close(pipes[1]);
    uint64_t wanted = 1 + random.below(8), got = 0;
    char byte;
    while (got != wanted && read(pipes[0], &byte, 1) == 1)
      ++got;
    usleep(random.below(3000)); // anywhere inside a later put
    kill(child, SIGKILL);
    EXPECT_EQ(exitOf(child), -SIGKILL);
    while (read(pipes[0], &byte, 1) == 1)
      ++got;
    close(pipes[0]);
    EXPECT_GE(got, wanted);
    told += got;
    std::unique_ptr<Journal> journal = llvm::cantFail(Journal::open(place.path));
    for (unsigned i = 0; i != told; ++i)
      ASSERT_EQ(llvm::cantFail(journal->find("compile", std::to_string(i))).value_or(""),
                answerTo(i))
          << i;
    // Either whole or not at all.
    std::string next = llvm::cantFail(journal->find("compile", std::to_string(told))).value_or("");
    EXPECT_TRUE(next.empty() || next == answerTo(told));
  }
}

// A limit on the size of files stands for a full disk.
TEST(JournalProcesses, AFullDiskIsAnErrorAndKeepsWhatWasThere) {
  Place place;
  llvm::cantFail(llvm::cantFail(Journal::open(place.path))->put("judge", "before", "kept"));
  pid_t child = inChild([&] {
    std::unique_ptr<Journal> journal = llvm::cantFail(Journal::open(place.path));
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (unsigned i = 0; i != 1000; ++i)
      if (llvm::Error error = journal->put("judge", std::to_string(i), std::string(5000, 'x'))) {
        std::string text = llvm::toString(std::move(error));
        return text.find("cannot write journal '" + place.path + "': ") == 0 ? 0 : 5;
      }
    return 6;
  });
  EXPECT_EQ(exitOf(child), 0);
  std::unique_ptr<Journal> journal = llvm::cantFail(Journal::open(place.path));
  EXPECT_EQ(llvm::cantFail(journal->find("judge", "before")).value_or(""), "kept");
  EXPECT_EQ(llvm::cantFail(journal->find("judge", "0")).value_or(""), std::string(5000, 'x'));
  llvm::cantFail(journal->put("judge", "after", "goes on"));
  EXPECT_EQ(llvm::cantFail(journal->find("judge", "after")).value_or(""), "goes on");
}
