#include "kb-opt/Support/Digest.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Progress.h"
#include "kb-opt/Support/Random.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace kbopt;

TEST(Digest, FieldsAreDelimited) {
  EXPECT_NE(DigestBuilder().add("ab").add("c").finish(),
            DigestBuilder().add("a").add("bc").finish());
  EXPECT_EQ(digestOf("x"), digestOf("x"));
  EXPECT_EQ(digestOf("").size(), 32u);
}

TEST(Digest, IsBlake3) {
  // The first 16 bytes of the reference implementation's digest of nothing.
  EXPECT_EQ(digestOf(""), "af1349b9f5f9a1a6a0404dea36dcc949");
}

TEST(Random, SeedDecidesTheStream) {
  Random a(1), b(1), c(2);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
  EXPECT_NE(Random(1).fork("x").next(), Random(1).fork("y").next());
}

TEST(Random, BelowCoversItsRange) {
  Random random(7);
  std::set<uint64_t> seen;
  for (int i = 0; i < 200; ++i)
    seen.insert(random.below(5));
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2, 3, 4}));
}

TEST(Random, WeightedNeverDrawsZeroWeight) {
  Random random(3);
  std::map<size_t, int> counts;
  for (int i = 0; i < 3000; ++i)
    ++counts[random.weighted({1.0, 0.0, 2.0})];
  EXPECT_EQ(counts.count(1), 0u);
  EXPECT_NEAR(counts[2] / 3000.0, 2.0 / 3.0, 0.05);
}

TEST(FileSystem, WritesWholeFilesOnly) {
  auto directory = TemporaryDirectory::create("kbopt-fs");
  ASSERT_TRUE(static_cast<bool>(directory));
  FileSystem &fs = realFileSystem();
  std::string file = directory->file("a");
  ASSERT_FALSE(fs.write(file, "one"));
  ASSERT_FALSE(fs.write(file, "two"));
  EXPECT_EQ(*fs.read(file), "two");
  EXPECT_EQ(fs.list(directory->path()), (std::vector<std::string>{"a"}));
}

TEST(FileSystem, LinksModesAndDevicesStay) {
  auto folder = llvm::cantFail(TemporaryDirectory::create("kb-test"));
  std::string file = folder.file("a"), link = folder.file("b");
  ASSERT_FALSE(realFileSystem().write(file, "old"));
  ASSERT_FALSE(llvm::sys::fs::setPermissions(file, llvm::sys::fs::perms(0750)));
  ASSERT_FALSE(llvm::sys::fs::create_link("a", link));
  ASSERT_FALSE(realFileSystem().write(link, "new"));
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(link));
  EXPECT_EQ(*realFileSystem().read(file), "new");
  EXPECT_EQ(llvm::cantFail(llvm::errorOrToExpected(llvm::sys::fs::getPermissions(file))),
            llvm::sys::fs::perms(0750));
  ASSERT_FALSE(realFileSystem().write("/dev/null", "x"));
  EXPECT_FALSE(llvm::sys::fs::is_regular_file("/dev/null"));
  llvm::Error full = realFileSystem().write("/dev/full", "x");
  EXPECT_EQ(llvm::toString(std::move(full)), "cannot write '/dev/full': No space left on device");
}

TEST(FileSystem, AppendsLines) {
  auto directory = TemporaryDirectory::create("kbopt-fs");
  ASSERT_TRUE(static_cast<bool>(directory));
  std::string file = directory->file("log");
  ASSERT_FALSE(realFileSystem().appendLine(file, "a"));
  ASSERT_FALSE(realFileSystem().appendLine(file, "b"));
  EXPECT_EQ(*realFileSystem().read(file), "a\nb\n");
}

TEST(FileSystem, AFullDiskIsNamedAndLeavesNothing) {
  // Every write to /dev/full ends with "no space left on device".
  llvm::Error error = realFileSystem().appendLine("/dev/full", "x");
  std::string text;
  llvm::raw_string_ostream os(text);
  EXPECT_EQ(reportError(os, "kb-opt", std::move(error)), ExitStatus::Environment);
  EXPECT_NE(text.find("cannot append to '/dev/full': No space left"), std::string::npos) << text;
  EXPECT_NE(text.find("note: free some space"), std::string::npos) << text;
}

TEST(FileSystem, AMissingFileIsNamed) {
  auto text = realFileSystem().read("/nowhere/at/all");
  ASSERT_FALSE(static_cast<bool>(text));
  EXPECT_EQ(llvm::toString(text.takeError()),
            "cannot read '/nowhere/at/all': No such file or directory");
}

TEST(Progress, RedrawsOnlyOnATerminal) {
  std::string terminal, file;
  llvm::raw_string_ostream terminalStream(terminal), fileStream(file);
  {
    Progress a(terminalStream, /*isTerminal=*/true), b(fileStream, /*isTerminal=*/false);
    for (Progress *progress : {&a, &b}) {
      progress->status("1 of 2");
      progress->line("kept");
    }
  }
  EXPECT_EQ(terminal, "1 of 2\r\x1b[Kkept\n");
  EXPECT_EQ(file, "kept\n");
}

TEST(Progress, TheHeadStaysUnderLines) {
  std::string terminal, file;
  llvm::raw_string_ostream terminalStream(terminal), fileStream(file);
  {
    Progress a(terminalStream, /*isTerminal=*/true), b(fileStream, /*isTerminal=*/false);
    for (Progress *progress : {&a, &b}) {
      progress->head([] { return std::string("best 2 x"); });
      progress->status("G4");
      progress->line("kept");
      progress->clear();
      progress->line("end");
    }
  }
  EXPECT_EQ(terminal, "best 2 x\r\x1b[Kbest 2 x | G4\r\x1b[Kkept\nbest 2 x\r\x1b[Kend\n");
  EXPECT_EQ(file, "kept\nend\n");
}

TEST(Progress, ObeysNoTextAndCutsNoCharacter) {
  std::string terminal;
  llvm::raw_string_ostream stream(terminal);
  {
    Progress progress(stream, /*isTerminal=*/true);
    progress.line("a\x1b[2Jb\xC2\x9B"
                  "31m\tc");
    progress.status(std::string(78, 'x') + "\xE2\x82\xAC");
  }
  EXPECT_EQ(terminal, "a?[2Jb?31m\tc\n" + std::string(78, 'x') + "\r\x1b[K");
}

TEST(Error, GravestStatusWins) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::Error both =
      llvm::joinErrors(llvm::make_error<UsageError>("unknown pass 'x'", "see --list-passes"),
                       llvm::make_error<StoreError>("cannot read 'y'"));
  EXPECT_EQ(reportError(os, "kb-opt", std::move(both)), ExitStatus::Environment);
  EXPECT_EQ(text, "kb-opt: error: unknown pass 'x'\nkb-opt: note: see --list-passes\n"
                  "kb-opt: error: cannot read 'y'\n");
}
