//===- LockFileTest.cpp ---------------------------------------------------===//
#include "kb-opt/Lock/LockFile.h"
#include "gtest/gtest.h"

using namespace kbopt;

static LockEntry entryOf(std::string file, std::vector<std::string> flags = {}) {
  LockEntry entry;
  entry.file = std::move(file);
  entry.kernels = {"scale"};
  entry.pipeline = "tune-block-size{kernel=scale block=128}";
  entry.closure = "0123";
  entry.output = "4567";
  entry.flags = std::move(flags);
  entry.architectures = {"sm_80", "sm_90"};
  entry.code = {{"sm_90", "89ab"}};
  entry.shapes = {"n=1 seed=1", "recorded"};
  entry.time = {"modelled", "h200", 2, 1, 2, 0};
  return entry;
}

TEST(LockFile, SameTextAfterReading) {
  LockFile lock;
  lock.put(entryOf("b.cu"));
  lock.put(entryOf("a.cu", {"-DX=\"a: b\""}));
  auto read = parseLock(lock.text(), "kbopt.lock");
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(lock.text(), read->text());
  ASSERT_EQ(2u, read->entries.size());
  EXPECT_EQ("a.cu", read->entries[0].file); // sorted
  EXPECT_EQ("-DX=\"a: b\"", read->entries[0].flags[0]);
  EXPECT_EQ(2, read->entries[0].time.ratio);
}

TEST(LockFile, EntryOfTheSameFlagsIsReplaced) {
  LockFile lock;
  lock.put(entryOf("a.cu"));
  lock.put(entryOf("a.cu", {"-DX"}));
  LockEntry again = entryOf("a.cu");
  again.output = "ffff";
  lock.put(again);
  ASSERT_EQ(2u, lock.entries.size());
  EXPECT_EQ("ffff", lock.entries[0].output);
}

static std::string refusalOf(llvm::StringRef text) {
  auto lock = parseLock(text, "kbopt.lock");
  return lock ? "" : llvm::toString(lock.takeError());
}

TEST(LockFile, Refusals) {
  EXPECT_EQ("kbopt.lock: it was written by a newer kb-opt (version 99)",
            refusalOf("version: 99\nentries: []\n"));
  EXPECT_EQ("kbopt.lock:1:1: missing required key 'version'", refusalOf("entries: []\n"));
  EXPECT_NE("", refusalOf("version: 1\nentries:\n  - file: a.cu\n    colour: red\n"));
  EXPECT_NE("", refusalOf(""));
  EXPECT_EQ("'kbopt.lock' is no lock file: it nests too deeply",
            refusalOf(std::string(100000, '[')));
}

TEST(LockFile, NamesAreRelativeToTheLock) {
  EXPECT_EQ("src/a.cu", nameInLock("/p/src/a.cu", "/p/kbopt.lock"));
  EXPECT_EQ("../a.cu", nameInLock("/p/a.cu", "/p/lock/kbopt.lock"));
}

TEST(LockFile, FullDiskKeepsTheOldLock) {
  FakeFileSystem files;
  LockFile lock;
  lock.put(entryOf("a.cu"));
  files.files["/p/kbopt.lock"] = lock.text();
  files.failWrites = true;
  EXPECT_NE("", llvm::toString(putIntoLock(files, "/p/kbopt.lock", entryOf("b.cu"))));
  EXPECT_EQ(lock.text(), files.files["/p/kbopt.lock"]);
}
