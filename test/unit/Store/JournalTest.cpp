//===- JournalTest.cpp - Answers, and files that went wrong ---------------===//
#include "kb-opt/Store/Journal.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <atomic>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

using namespace kbopt;

namespace {

class JournalTest : public ::testing::Test {
protected:
  void SetUp() override {
    llvm::Expected<TemporaryDirectory> made = TemporaryDirectory::create("journal");
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    folder.emplace(std::move(*made));
    path = folder->file("journal.db");
  }

  std::unique_ptr<Journal> open() {
    llvm::Expected<std::unique_ptr<Journal>> journal = Journal::open(path);
    if (journal)
      return std::move(*journal);
    ADD_FAILURE() << llvm::toString(journal.takeError());
    return Journal::inMemory();
  }

  /// "message | note" of the error of opening, or "none".
  std::string openError(unsigned busyMilliseconds = 50) {
    llvm::Expected<std::unique_ptr<Journal>> journal = Journal::open(path, busyMilliseconds);
    if (journal)
      return "none";
    std::string text;
    llvm::handleAllErrors(journal.takeError(), [&](const StoreError &error) {
      text = error.message + " | " + error.note;
    });
    return text;
  }

  std::string read() {
    llvm::Expected<std::string> bytes = realFileSystem().read(path);
    EXPECT_TRUE(bool(bytes));
    return bytes ? *bytes : "";
  }
  void write(llvm::StringRef bytes) { llvm::cantFail(realFileSystem().write(path, bytes)); }
  /// Runs \p sql on the file behind the journal's back.
  void execute(const char *sql) {
    sqlite3 *db = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  std::optional<TemporaryDirectory> folder;
  std::string path;
};

std::string found(Journal &journal, llvm::StringRef kind, const Digest &request) {
  return llvm::cantFail(journal.find(kind, request)).value_or("(none)");
}

} // namespace

TEST_F(JournalTest, AnswersWhatWasStoredAlsoAfterReopening) {
  {
    std::unique_ptr<Journal> journal = open();
    EXPECT_EQ(found(*journal, "compile", "r1"), "(none)");
    llvm::cantFail(journal->put("compile", "r1", "answer"));
    llvm::cantFail(journal->put("compile", "empty", ""));
    llvm::cantFail(journal->put("compile", "binary", llvm::StringRef("a\0b\xff", 4)));
    EXPECT_EQ(found(*journal, "compile", "r1"), "answer");
  }
  std::unique_ptr<Journal> journal = open();
  EXPECT_EQ(found(*journal, "compile", "r1"), "answer");
  EXPECT_EQ(found(*journal, "compile", "empty"), "");
  EXPECT_EQ(found(*journal, "compile", "binary"), std::string("a\0b\xff", 4));
  EXPECT_EQ(found(*journal, "judge", "r1"), "(none)");
}

TEST_F(JournalTest, TheFirstAnswerStays) {
  std::unique_ptr<Journal> journal = open();
  llvm::cantFail(journal->put("judge", "r", "first"));
  llvm::cantFail(journal->put("judge", "r", "second"));
  EXPECT_EQ(found(*journal, "judge", "r"), "first");
}

TEST_F(JournalTest, ComputesOnceAndCounts) {
  std::unique_ptr<Journal> journal = open();
  int runs = 0;
  auto compute = [&]() -> llvm::Expected<std::string> {
    ++runs;
    return "made";
  };
  EXPECT_EQ(llvm::cantFail(journal->getOrCompute("parse", "r", compute)), "made");
  EXPECT_EQ(llvm::cantFail(journal->getOrCompute("parse", "r", compute)), "made");
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(journal->counts()["parse"].computed, 1u);
  EXPECT_EQ(journal->counts()["parse"].found, 1u);
}

TEST_F(JournalTest, AnErrorIsNotStored) {
  std::unique_ptr<Journal> journal = open();
  llvm::Expected<std::string> failed =
      journal->getOrCompute("parse", "r", []() -> llvm::Expected<std::string> {
        return llvm::make_error<UsageError>("no such file");
      });
  ASSERT_FALSE(bool(failed));
  EXPECT_EQ(llvm::toString(failed.takeError()), "no such file");
  EXPECT_EQ(llvm::cantFail(journal->getOrCompute(
                "parse", "r", []() -> llvm::Expected<std::string> { return "ok"; })),
            "ok");
}

TEST_F(JournalTest, ThreadsWaitForOneComputation) {
  std::unique_ptr<Journal> journal = open();
  std::atomic<int> runs = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i != 8; ++i)
    threads.emplace_back([&] {
      for (int request = 0; request != 5; ++request) {
        Digest digest = std::to_string(request);
        EXPECT_EQ(llvm::cantFail(journal->getOrCompute("judge", digest,
                                                       [&]() -> llvm::Expected<std::string> {
                                                         ++runs;
                                                         return "answer " + digest;
                                                       })),
                  "answer " + digest);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(runs, 5);
}

TEST_F(JournalTest, InMemoryLeavesNoFile) {
  std::unique_ptr<Journal> journal = Journal::inMemory();
  llvm::cantFail(journal->put("judge", "r", "x"));
  EXPECT_EQ(found(*journal, "judge", "r"), "x");
  EXPECT_TRUE(realFileSystem().list(folder->path()).empty());
}

TEST_F(JournalTest, SaysWhetherAnotherRunHasItOpen) {
  std::unique_ptr<Journal> first = open();
  std::unique_ptr<Journal> second = open();
  EXPECT_FALSE(first->sharedWithAnotherRun());
  EXPECT_TRUE(second->sharedWithAnotherRun());
  llvm::cantFail(first->put("judge", "r", "of the first"));
  EXPECT_EQ(found(*second, "judge", "r"), "of the first");
}

TEST_F(JournalTest, AHeldFileIsAnErrorThatSaysSo) {
  open();
  sqlite3 *db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(openError(), "journal '" + path +
                             "' is held by another run | "
                             "wait until that run has ended, then run the same command again");
  sqlite3_close(db);
  EXPECT_EQ(openError(), "none");
}

TEST_F(JournalTest, GarbageIsMovedAsideWhole) {
  write("this is no database, but it is somebody's file of some length\n");
  EXPECT_EQ(openError(), "journal '" + path +
                             "' is corrupt: file is not a database | it is kept as '" + path +
                             ".corrupt-1'; run the same command again to start a new one");
  EXPECT_EQ(llvm::cantFail(realFileSystem().read(path + ".corrupt-1")),
            "this is no database, but it is somebody's file of some length\n");
  EXPECT_EQ(openError(), "none");
  write("garbage again");
  EXPECT_NE(openError().find(".corrupt-2'"), std::string::npos);
}

TEST_F(JournalTest, DamagedPagesAreFoundOnOpening) {
  {
    std::unique_ptr<Journal> journal = open();
    for (int i = 0; i != 200; ++i)
      llvm::cantFail(journal->put("judge", std::to_string(i), std::string(300, 'x')));
  }
  std::string bytes = read();
  ASSERT_GT(bytes.size(), 20000u);
  for (size_t at = 16384; at != 16484; ++at) // the header of a page
    bytes[at] = '\x5a';
  write(bytes);
  std::string error = openError();
  EXPECT_EQ(error.find("journal '" + path + "' is corrupt: "), 0u) << error;
  EXPECT_EQ(llvm::cantFail(realFileSystem().read(path + ".corrupt-1")), bytes);
}

TEST_F(JournalTest, ACorruptFileThatAnotherRunUsesStays) {
  int other = ::open((path + ".lock").c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(::flock(other, LOCK_SH), 0);
  write("garbage, while another run has the file open");
  EXPECT_NE(openError().find("another run has it open"), std::string::npos);
  EXPECT_EQ(read(), "garbage, while another run has the file open");
  ::close(other);
  EXPECT_NE(openError().find("it is kept as"), std::string::npos);
}

TEST_F(JournalTest, ADamagedAnswerIsComputedAgain) {
  {
    std::unique_ptr<Journal> journal = open();
    llvm::cantFail(journal->put("judge", "r", "right"));
  }
  execute("UPDATE answers SET response=CAST('wrong' AS BLOB)");
  std::unique_ptr<Journal> journal = open();
  EXPECT_EQ(llvm::cantFail(journal->getOrCompute(
                "judge", "r", []() -> llvm::Expected<std::string> { return "right"; })),
            "right");
  EXPECT_EQ(found(*journal, "judge", "r"), "right");
}

TEST_F(JournalTest, OtherVersionsAndOtherDatabasesAreLeftAlone) {
  open();
  execute("PRAGMA user_version=2");
  EXPECT_EQ(openError().find("journal '" + path +
                             "' was written by a newer kb-opt (version 2, this one reads 1)"),
            0u);
  llvm::cantFail(realFileSystem().remove(path));
  execute("CREATE TABLE recipes(name TEXT)");
  EXPECT_EQ(openError(),
            "'" + path +
                "' is no journal of kb-opt but another SQLite database | name another file");
}

TEST_F(JournalTest, AFolderThatCannotBeMadeIsNamed) {
  write("a file");
  path += "/below/journal.db";
  std::string error = openError();
  EXPECT_EQ(error.find("cannot create folder '"), 0u) << error;
  EXPECT_NE(error.find("| name a file in a folder you can write to"), std::string::npos) << error;
}
