//===- CompileCommandTest.cpp - Where a command comes from ----------------===//
#include "kb-opt/Source/CompileCommand.h"
#include "SourceTestUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
using namespace kbopt::test;

namespace {

/// A folder with k.cu and sub/k.cu in it; commands are looked up there.
class CompileCommandTest : public testing::Test {
protected:
  CompileCommandTest() : folder(makeFolder()) {
    writeFile(folder.file("k.cu"), "");
    llvm::cantFail(realFileSystem().createDirectories(folder.file("sub")));
    writeFile(folder.file("sub/k.cu"), "");
    query.file = "k.cu";
    query.workingDirectory = folder.path().str();
  }
  llvm::Expected<CompileCommand> find() { return findCompileCommand(query, fake); }
  void writeDatabase(const std::string &path, const std::string &file, const std::string &command) {
    writeFile(path, "[{\"directory\": \"" + folder.path().str() + "\", \"file\": \"" + file +
                        "\", \"command\": \"" + command + "\"}]");
  }

  TemporaryDirectory folder;
  CudaToolkit fake{"/opt/cuda", "test", 12040};
  CommandQuery query;
};

} // namespace

TEST_F(CompileCommandTest, Defaults) {
  CompileCommand command = llvm::cantFail(find());
  EXPECT_EQ(command.file, folder.file("k.cu"));
  EXPECT_EQ(command.shownFile, "k.cu");
  EXPECT_EQ(command.arch, "sm_90");
  EXPECT_TRUE(command.archIsDefault);
  EXPECT_TRUE(command.clangFlags.empty());
  std::vector<std::string> device = command.deviceArguments();
  for (const char *flag : {"--cuda-path=/opt/cuda", "--cuda-gpu-arch=sm_90", "--cuda-device-only",
                           "-Wno-unknown-cuda-version"})
    EXPECT_TRUE(llvm::is_contained(device, flag)) << flag;
}

TEST_F(CompileCommandTest, MacrosOfTheUsersOwnAreNoArguments) {
  query.flags = {"-DN=1",    "-D",      "M=2",
                 "-UL",      "-D_OURS", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM",
                 "-DNDEBUG", "-Xclang", "-DKEPT"};
  std::vector<std::string> device = llvm::cantFail(find()).deviceArguments();
  for (const char *flag : {"-DN=1", "M=2", "-UL"})
    EXPECT_FALSE(llvm::is_contained(device, flag)) << flag;
  for (const char *flag :
       {"-D_OURS", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM", "-DNDEBUG", "-Xclang", "-DKEPT"})
    EXPECT_TRUE(llvm::is_contained(device, flag)) << flag;
}

TEST_F(CompileCommandTest, FlagsWinOverADatabase) {
  writeDatabase(folder.file("compile_commands.json"), "k.cu", "nvcc -DFROM_DATABASE -c k.cu");
  EXPECT_EQ(llvm::cantFail(find()).clangFlags, (std::vector<std::string>{"-DFROM_DATABASE"}));
  query.flags = std::vector<std::string>{"-DFROM_FLAGS", "-O1"};
  CompileCommand command = llvm::cantFail(find());
  EXPECT_EQ(command.clangFlags, (std::vector<std::string>{"-DFROM_FLAGS"}));
  EXPECT_EQ(command.original, (std::vector<std::string>{"-DFROM_FLAGS", "-O1"}));
  EXPECT_TRUE(llvm::is_contained(command.hostArguments(), "-O1"));
  EXPECT_FALSE(llvm::is_contained(command.deviceArguments(), "-O1"));
}

TEST_F(CompileCommandTest, NearestDatabaseThatNamesTheFile) {
  writeDatabase(folder.file("compile_commands.json"), "sub/k.cu", "nvcc -DUPPER -c sub/k.cu");
  writeDatabase(folder.file("sub/compile_commands.json"), "other.cu", "nvcc -DLOWER -c other.cu");
  query.file = "sub/k.cu";
  EXPECT_EQ(llvm::cantFail(find()).clangFlags, (std::vector<std::string>{"-DUPPER"}));
  query.file = "k.cu";
  EXPECT_TRUE(llvm::cantFail(find()).clangFlags.empty());
}

TEST_F(CompileCommandTest, DatabaseOfCMake) {
  writeDatabase(folder.file("compile_commands.json"), "k.cu",
                "/usr/local/cuda/bin/nvcc -forward-unknown-to-host-compiler -DA -I/inc "
                "\\\"--generate-code=arch=compute_86,code=[compute_86,sm_86]\\\" -std=c++17 -x cu "
                "-rdc=true -c k.cu -o k.cu.o");
  CompileCommand command = llvm::cantFail(find());
  EXPECT_EQ(command.arch, "sm_86");
  EXPECT_EQ(command.clangFlags, (std::vector<std::string>{"-DA", "-I/inc", "-std=c++17"}));
  EXPECT_EQ(command.nvccFlags, (std::vector<std::string>{"-forward-unknown-to-host-compiler", "-DA",
                                                         "-I/inc", "-std=c++17", "-x", "cu"}));
}

TEST_F(CompileCommandTest, DatabaseOfClangAndOfACache) {
  writeDatabase(folder.file("compile_commands.json"), "k.cu",
                "ccache /usr/bin/clang++-22 -x cuda --offload-arch=sm_80 -DC -o k.o -c k.cu");
  CompileCommand command = llvm::cantFail(find());
  EXPECT_EQ(command.arch, "sm_80");
  EXPECT_EQ(command.clangFlags, (std::vector<std::string>{"-DC"}));
}

TEST_F(CompileCommandTest, ExplicitDatabaseMustNameTheFile) {
  writeDatabase(folder.file("compile_commands.json"), "other.cu", "nvcc -c other.cu");
  query.databaseFolder = ".";
  EXPECT_EQ(failureOf(find()).message, "'k.cu' is not in the compilation database of '.'");
  query.databaseFolder = "sub";
  Failure failure = failureOf(find());
  EXPECT_EQ(failure.message, "no compile_commands.json in 'sub'");
  EXPECT_EQ(failure.status, ExitStatus::Usage);
}

TEST_F(CompileCommandTest, BrokenDatabase) {
  writeFile(folder.file("compile_commands.json"), "[{");
  EXPECT_EQ(failureOf(find()).status, ExitStatus::Usage);
}

TEST_F(CompileCommandTest, ArchitectureOverride) {
  query.flags = std::vector<std::string>{"-arch=sm_75"};
  query.arch = "sm_86";
  EXPECT_EQ(llvm::cantFail(find()).arch, "sm_86");
  query.arch = "h200";
  EXPECT_EQ(failureOf(find()).message, "unknown architecture 'h200'");
}

TEST_F(CompileCommandTest, OfSeveralArchitecturesThatOfTheDevice) {
  query.flags = std::vector<std::string>{"-gencode=arch=compute_80,code=sm_80", "-gencode",
                                         "arch=compute_90,code=sm_90",
                                         "-gencode=arch=compute_120,code=sm_120"};
  CompileCommand command = llvm::cantFail(find());
  command.units.push_back(command);
  EXPECT_EQ(command.arch, "sm_120");
  command.chooseArch("sm_90");
  EXPECT_EQ(command.arch, "sm_90");
  EXPECT_EQ(command.otherArchs, (std::set<std::string>{"sm_80", "sm_120"}));
  EXPECT_EQ(command.units.front().arch, "sm_90");
  command.chooseArch("sm_89"); // an older minor version runs there
  EXPECT_EQ(command.arch, "sm_80");
  command.chooseArch("sm_75"); // none does
  EXPECT_EQ(command.arch, "sm_80");
  query.arch = "sm_120";
  command = llvm::cantFail(find());
  command.chooseArch("sm_90"); // the user's word stands
  EXPECT_EQ(command.arch, "sm_120");
}

TEST_F(CompileCommandTest, MissingFileFolderAndOtherLanguages) {
  query.file = "gone.cu";
  Failure failure = failureOf(find());
  EXPECT_EQ(failure.message, "no such file: 'gone.cu'");
  EXPECT_EQ(failure.status, ExitStatus::Diagnostics);
  query.file = "sub";
  EXPECT_EQ(failureOf(find()).message, "'sub' is a folder");
  writeFile(folder.file("k.cpp"), "");
  query.file = "k.cpp";
  failure = failureOf(find());
  EXPECT_EQ(failure.message, "'k.cpp' is not CUDA by its name");
  EXPECT_EQ(failure.status, ExitStatus::Diagnostics);
  query.flags = std::vector<std::string>{"-x", "cu"};
  EXPECT_EQ(llvm::cantFail(find()).file, folder.file("k.cpp"));
}

TEST_F(CompileCommandTest, WholeCommandAfterTheDashes) {
  query.flags = std::vector<std::string>{"nvcc", "-DX", "-o", "k", "k.cu", "other.cu"};
  CompileCommand command = llvm::cantFail(find());
  EXPECT_EQ(command.clangFlags, (std::vector<std::string>{"-DX"}));
  ASSERT_EQ(command.ignored.size(), 1u);
  EXPECT_EQ(command.ignored[0].flag, "other.cu");
}

TEST_F(CompileCommandTest, DigestTellsCommandsApart) {
  query.flags = std::vector<std::string>{"-DX"};
  Digest first = llvm::cantFail(find()).digest();
  EXPECT_EQ(first, llvm::cantFail(find()).digest());
  std::vector<std::vector<std::string>> others{
      {"-DY"}, {"-DX", "-prec-div=false"}, {"-DX", "-arch=sm_80"}, {"-DX", "-lm"}, {"-DX", "-O3"}};
  for (auto &flags : others) {
    query.flags = flags;
    EXPECT_NE(first, llvm::cantFail(find()).digest()) << flags.back();
  }
}
