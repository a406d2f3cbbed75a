//===- CompileCacheTest.cpp -----------------------------------------------===//
#include "kb-opt/Support/CompileCache.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Support/FileSystem.h"
#include <chrono>
#include <cstdio>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace kbopt;

namespace {

struct CompileCacheTest : testing::Test {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("compile-cache"));
  std::string header = folder.file("a.h");
  std::vector<std::string> troubles;
  unsigned compiles = 0;

  void SetUp() override { write("first"); }
  /// Headers are older than the compiles that read them.
  void write(const std::string &text) {
    llvm::cantFail(realFileSystem().write(header, text));
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  std::unique_ptr<CompileCache> open(uint64_t maxBytes = 1 << 20) {
    return std::make_unique<CompileCache>(
        CompileCache::Options{folder.file("kept"), maxBytes,
                              [this](const std::string &text) { troubles.push_back(text); }});
  }
  CompileOutcome compile(CompileCache &cache, const std::string &key = "key",
                         bool isRepeatable = true) {
    return llvm::cantFail(cache.getOrCompile(key, [&]() -> llvm::Expected<NewCompile> {
      ++compiles;
      std::string read = llvm::cantFail(realFileSystem().read(header));
      return NewCompile{{0, "a warning\n", {{"code", read + std::string("\0\n", 2)}, {"map", ""}}},
                        {header},
                        isRepeatable};
    }));
  }
  std::vector<std::string> entries() { return realFileSystem().list(folder.file("kept")); }
};

TEST_F(CompileCacheTest, GivesBackWhatWasMadeAcrossRuns) {
  compile(*open());
  CompileOutcome kept = compile(*open());
  EXPECT_EQ(compiles, 1u);
  EXPECT_EQ(kept.exitStatus, 0);
  EXPECT_EQ(kept.messages, "a warning\n");
  EXPECT_EQ(kept.outputs["code"], std::string("first\0\n", 7));
  EXPECT_EQ(kept.outputs.count("map"), 1u);
  compile(*open(), "another key");
  EXPECT_EQ(compiles, 2u);
}

TEST_F(CompileCacheTest, CompilesAgainWhenAHeaderChanged) {
  compile(*open());
  write("second");
  EXPECT_EQ(compile(*open()).outputs["code"], std::string("second\0\n", 8));
  EXPECT_EQ(compiles, 2u);
  llvm::cantFail(realFileSystem().remove(header));
  write("second");
  compile(*open()); // what counts is what the file holds
  EXPECT_EQ(compiles, 2u);
}

TEST_F(CompileCacheTest, DoesNotKeepWhatAHeaderChangedUnder) {
  auto cache = open();
  for (int i = 0; i < 2; ++i)
    llvm::cantFail(cache->getOrCompile("key", [&]() -> llvm::Expected<NewCompile> {
      ++compiles;
      write("during " + std::to_string(i));
      return NewCompile{{0, "", {}}, {header}, true};
    }));
  EXPECT_EQ(compiles, 2u);
}

TEST_F(CompileCacheTest, KeepsRefusalsButNothingThatATimeLimitEnded) {
  auto refuse = [&](const std::string &key, bool isRepeatable) {
    return llvm::cantFail(open()->getOrCompile(key, [&]() -> llvm::Expected<NewCompile> {
      ++compiles;
      return NewCompile{{1, "error: no\n", {}}, {}, isRepeatable};
    }));
  };
  refuse("refused", true);
  CompileOutcome kept = refuse("refused", true);
  EXPECT_EQ(compiles, 1u);
  EXPECT_EQ(kept.exitStatus, 1);
  EXPECT_EQ(kept.messages, "error: no\n");
  refuse("ended", false);
  refuse("ended", false);
  EXPECT_EQ(compiles, 3u);
}

TEST_F(CompileCacheTest, PassesErrorsOnAndKeepsNone) {
  auto cache = open();
  for (int i = 0; i < 2; ++i) {
    auto outcome = cache->getOrCompile("key", [&]() -> llvm::Expected<NewCompile> {
      ++compiles;
      return llvm::make_error<StoreError>("no compiler");
    });
    ASSERT_FALSE(outcome);
    EXPECT_EQ(llvm::toString(outcome.takeError()), "no compiler");
  }
  EXPECT_EQ(compiles, 2u);
}

TEST_F(CompileCacheTest, MakesDamagedEntriesAgain) {
  compile(*open());
  std::string entry;
  for (const std::string &name : entries())
    if (llvm::StringRef(name).ends_with("-key"))
      entry = folder.file("kept/" + name);
  ASSERT_FALSE(entry.empty());
  std::string whole = llvm::cantFail(realFileSystem().read(entry));
  std::vector<std::string> damaged = {"", whole.substr(0, whole.size() - 1), whole + "x",
                                      "another format\n" + whole};
  damaged.push_back(whole);
  damaged.back()[whole.size() / 2] ^= 1;
  for (const std::string &bytes : damaged) {
    llvm::cantFail(realFileSystem().write(entry, bytes));
    compiles = 0;
    EXPECT_EQ(compile(*open()).outputs["code"], std::string("first\0\n", 7));
    EXPECT_EQ(compiles, 1u);
    EXPECT_EQ(llvm::cantFail(realFileSystem().read(entry)), whole);
  }
}

TEST_F(CompileCacheTest, SaysOnceThatItsFolderCannotBeWritten) {
  llvm::cantFail(realFileSystem().write(folder.file("kept"), "a file in its place"));
  auto cache = open();
  compile(*cache);
  compile(*cache);
  EXPECT_EQ(compiles, 2u);
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_NE(troubles[0].find(folder.file("kept")), std::string::npos) << troubles[0];
}

TEST_F(CompileCacheTest, KeepsNothingWithoutRoom) {
  compile(*open(0));
  compile(*open(0));
  EXPECT_EQ(compiles, 2u);
  EXPECT_TRUE(entries().empty());
}

TEST_F(CompileCacheTest, DropsWhatWasNotUsedForLongest) {
  auto add = [&](const std::string &key) {
    llvm::cantFail(open(100000)->getOrCompile(key, [&]() -> llvm::Expected<NewCompile> {
      ++compiles;
      return NewCompile{{0, "", {{"code", std::string(30000, 'x')}}}, {}, true};
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  add("a");
  add("b");
  add("c");
  add("a"); // used again
  EXPECT_EQ(compiles, 3u);
  // The folder is looked at once a minute.
  llvm::cantFail(realFileSystem().remove(folder.file("kept/llvmcache.timestamp")));
  add("d");
  EXPECT_EQ(compiles, 4u);
  add("a");
  EXPECT_EQ(compiles, 4u);
  add("b");
  EXPECT_EQ(compiles, 5u);
}

/// Runs that leave a large file.
struct LargeFilesTest : CompileCacheTest {
  std::string out = folder.file("out"), data = out + "/data.bin";
  std::string content = std::string(5000, 'd');

  llvm::Expected<CompileOutcome> run(uint64_t maxBytes = 1 << 20) {
    if (llvm::Error error = realFileSystem().createDirectories(out))
      return std::move(error);
    return open(maxBytes)->getOrCompile(
        "key",
        [&]() -> llvm::Expected<NewCompile> {
          ++compiles;
          EXPECT_FALSE(realFileSystem().exists(data));
          std::FILE *file = std::fopen(data.c_str(), "w"); // in place, as a recorder writes
          std::fputs(content.c_str(), file);
          std::fclose(file);
          return NewCompile{{0, "said", {}, {"data.bin"}}, {header, folder.file("absent")}, true};
        },
        out);
  }
  /// In a new folder, as another process has it.
  llvm::Expected<CompileOutcome> runAgain(uint64_t maxBytes = 1 << 20) {
    out = folder.file("out" + std::to_string(++folders));
    data = out + "/data.bin";
    return run(maxBytes);
  }
  std::string blob() {
    for (const std::string &name : entries())
      if (!llvm::StringRef(name).ends_with("-key") &&
          llvm::StringRef(name).starts_with("llvmcache-"))
        return folder.file("kept/" + name);
    return "";
  }
  uint64_t numberOf(const std::string &path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) ? 0 : status.st_ino;
  }
  unsigned folders = 0;
};

TEST_F(LargeFilesTest, AreOneFileUnderTwoNames) {
  llvm::cantFail(run());
  const uint64_t number = numberOf(data);
  CompileOutcome again = llvm::cantFail(runAgain());
  EXPECT_EQ(compiles, 1u);
  EXPECT_EQ(again.messages, "said");
  EXPECT_EQ(again.files, std::vector<std::string>{"data.bin"});
  EXPECT_EQ(llvm::cantFail(realFileSystem().read(data)), content);
  EXPECT_EQ(numberOf(data), number);
  // The entry may leave while its files are used.
  llvm::cantFail(realFileSystem().remove(blob()));
  EXPECT_EQ(llvm::cantFail(realFileSystem().read(data)), content);
  llvm::cantFail(runAgain());
  EXPECT_EQ(compiles, 2u);
}

TEST_F(LargeFilesTest, AreMadeAgainWhenTheyAreDamaged) {
  llvm::cantFail(run());
  for (std::string damage : {std::string(), content.substr(1), "x" + content.substr(1)}) {
    const std::string kept = blob();
    llvm::cantFail(realFileSystem().remove(kept)); // the run before keeps its own
    llvm::cantFail(realFileSystem().write(kept, damage));
    compiles = 0;
    llvm::cantFail(runAgain());
    EXPECT_EQ(compiles, 1u);
    EXPECT_EQ(llvm::cantFail(realFileSystem().read(data)), content);
    llvm::cantFail(runAgain());
    EXPECT_EQ(compiles, 1u);
  }
}

TEST_F(LargeFilesTest, AreMadeAgainWhenAFileAppearsThatWasNotThere) {
  llvm::cantFail(run());
  llvm::cantFail(realFileSystem().write(folder.file("absent"), "now there"));
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  llvm::cantFail(runAgain());
  EXPECT_EQ(compiles, 2u);
  llvm::cantFail(runAgain());
  EXPECT_EQ(compiles, 2u);
  llvm::cantFail(realFileSystem().remove(folder.file("absent")));
  llvm::cantFail(runAgain());
  EXPECT_EQ(compiles, 3u);
}

TEST_F(LargeFilesTest, AreNotKeptBeyondHalfOfTheLimit) {
  llvm::cantFail(run(2 * content.size() - 1));
  EXPECT_TRUE(entries().empty());
  llvm::cantFail(runAgain(2 * content.size() - 1));
  EXPECT_EQ(compiles, 2u);
  EXPECT_TRUE(troubles.empty());
}

TEST_F(LargeFilesTest, LeaveTheFolderAtOnceBeyondTheLimit) {
  for (char c = 'a'; c < 'g'; ++c) {
    content = std::string(5000, c);
    write(std::string(1, c));
    llvm::cantFail(runAgain(15000));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  uint64_t bytes = 0;
  for (const std::string &name : entries())
    bytes += llvm::cantFail(realFileSystem().read(folder.file("kept/" + name))).size();
  EXPECT_LE(bytes, 15000u);
  EXPECT_GE(bytes, 5000u);
}

TEST(CompileInputs, AreReadFromRulesOfMake) {
  EXPECT_EQ(
      inputsOfMakeRule("out.o: /a/b.cu rel.h \\\n  /with\\ space.h /d$$x.h\n/a/b.cu:\n", "/dir"),
      (std::vector<std::string>{"/a/b.cu", "/d$x.h", "/dir/rel.h", "/with space.h"}));
  EXPECT_TRUE(inputsOfMakeRule("out.o:\n", "/dir").empty());
}

TEST(CompileInputs, AreReadFromLineMarkers) {
  EXPECT_EQ(inputsOfPreprocessed("# 1 \"/a.cu\"\n# 1 \"<built-in>\" 1\nint x; # 2 \"no.h\"\n"
                                 "# 7 \"b.h\" 1 3\n#line 3 \"/c.h\"\n#define A \"d.h\"\n",
                                 "/dir"),
            (std::vector<std::string>{"/a.cu", "/c.h", "/dir/b.h"}));
}

TEST(CompileTools, AreToldApartByTheirFiles) {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("tools"));
  std::string tool = folder.file("nvcc");
  Digest missing = toolIdentity({tool});
  llvm::cantFail(realFileSystem().write(tool, "one"));
  Digest first = toolIdentity({tool});
  EXPECT_NE(missing, first);
  EXPECT_EQ(first, toolIdentity({tool}));
  llvm::cantFail(realFileSystem().write(tool, "another"));
  EXPECT_NE(first, toolIdentity({tool}));
}

} // namespace
