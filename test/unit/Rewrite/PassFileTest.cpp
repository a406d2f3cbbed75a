//===- PassFileTest.cpp - Passes without C++, read and compiled in ----------===//

#include "kb-opt/Rewrite/PassFile.h"
#include "../Source/SourceTestUtils.h"
#include "../SourceDir.h"
#include "kb-opt/Rewrite/DataPass.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace kbopt;
using namespace kbopt::test;
using llvm::StringRef;

namespace {

/// The folders below passes/.
std::vector<std::string> passFolders() {
  std::vector<std::string> folders;
  FileSystem &files = realFileSystem();
  std::string root = sourcePath("passes");
  for (const std::string &family : files.list(root))
    for (const std::string &pass : files.list(root + "/" + family))
      folders.push_back(root + "/" + family + "/" + pass);
  return folders;
}

void expectSame(const PassInfo &read, const PassInfo &compiled) {
  SCOPED_TRACE(read.name.str());
  EXPECT_EQ(read.name, compiled.name);
  EXPECT_EQ(read.family, compiled.family);
  EXPECT_EQ(read.summary, compiled.summary);
  EXPECT_EQ(read.description, compiled.description);
  EXPECT_EQ(read.aliases, compiled.aliases);
  EXPECT_EQ(read.states, compiled.states);
  EXPECT_EQ(read.excludes, compiled.excludes);
  EXPECT_EQ(read.enables, compiled.enables);
  EXPECT_EQ(read.retunes, compiled.retunes);
  EXPECT_EQ(read.site, compiled.site);
  EXPECT_EQ(read.promise, compiled.promise);
  EXPECT_EQ(read.assumes, compiled.assumes);
  EXPECT_EQ(read.minimumChip, compiled.minimumChip);
  EXPECT_EQ(read.exactChip, compiled.exactChip);
  EXPECT_EQ(read.deterministic, compiled.deterministic);
  ASSERT_NE(compiled.assisted, nullptr);
  const AssistedForm &a = *read.assisted, &b = *compiled.assisted;
  EXPECT_EQ(a.prompt, b.prompt);
  EXPECT_EQ(a.before, b.before);
  EXPECT_EQ(a.after, b.after);
  EXPECT_EQ(a.allow, b.allow);
  EXPECT_EQ(a.matcher, b.matcher);
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (auto [x, y] : llvm::zip(a.parameters, b.parameters)) {
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.summary, y.summary);
    EXPECT_EQ(x.defaultValue, y.defaultValue);
    EXPECT_EQ(x.values, y.values);
  }
}

TEST(PassFile, ReadsBuiltinPassesAsTheyWereCompiledIn) {
  unsigned count = 0;
  for (const std::string &folder : passFolders()) {
    if (!realFileSystem().exists(folder + "/pass.yaml"))
      continue;
    ++count;
    auto read = readPassFolder(realFileSystem(), folder);
    if (!read) {
      ADD_FAILURE() << llvm::toString(read.takeError());
      continue;
    }
    const PassRegistration *compiled = builtinPasses().lookup(read->info->name);
    ASSERT_NE(compiled, nullptr) << folder;
    expectSame(*read->info, *compiled->info);
  }
  EXPECT_GE(count, 10u);
}

TEST(PassFile, ExamplesParse) {
  unsigned count = 0;
  for (const PassInfo *info : builtinPasses().infos()) {
    if (!info->assisted || info->assisted->before.empty())
      continue;
    ++count;
    EXPECT_EQ(messageOf(sharedParser().parse(sharedCommand(), info->assisted->before)), "")
        << info->name.str();
    EXPECT_EQ(messageOf(sharedParser().parse(sharedCommand(), info->assisted->after)), "")
        << info->name.str();
    EXPECT_NE(info->assisted->before, info->assisted->after) << info->name.str();
  }
  EXPECT_GE(count, 14u);
}

TEST(PassFile, PromptsAreOfAReadableLength) {
  for (const PassInfo *info : builtinPasses().infos()) {
    if (!info->assisted)
      continue;
    size_t lines = info->assisted->prompt.count('\n') + 1;
    EXPECT_GE(lines, 15u) << info->name.str();
    EXPECT_LE(lines, 60u) << info->name.str();
    for (StringRef allowed : info->assisted->allow)
      EXPECT_TRUE(llvm::any_of(allowances(), [&](const Allowance &a) { return a.name == allowed; }))
          << info->name.str() << ": " << allowed.str();
    // A number that is left open occurs in the prompt as replies write it.
    for (const ReplyParameter &parameter : info->assisted->parameters)
      EXPECT_TRUE(info->assisted->prompt.contains(("{{" + parameter.name + "}}").str()))
          << info->name.str() << ": " << parameter.name.str();
  }
}

TEST(PassFile, PassesWithoutCppAreMadeAndDoNotApply) {
  const PassRegistration *pass = builtinPasses().lookup("raise-shared-carveout");
  ASSERT_NE(pass, nullptr);
  EXPECT_FALSE(pass->info->deterministic);
  EXPECT_NE(pass->create(), nullptr);
  EXPECT_TRUE(pass->info->assisted->allows("function-attributes"));
  EXPECT_FALSE(pass->info->assisted->allows("asm"));
}

TEST(PassFile, MatchersAreCheckedInClangQuerysWords) {
  EXPECT_EQ(checkMatcher("forStmt().bind(\"site\")"), "");
  EXPECT_EQ(checkMatcher("forStmt(hasDescendant(\n  callExpr()))\n  .bind( \"site\" )"), "");
  EXPECT_TRUE(
      StringRef(checkMatcher("fourStmt().bind(\"site\")")).contains("Matcher not found: fourStmt"));
  EXPECT_TRUE(StringRef(checkMatcher("forStmt(hasBody(42)).bind(\"site\")")).contains("1:"));
  EXPECT_TRUE(StringRef(checkMatcher("forStmt()")).contains("binds no node as \"site\""));
}

} // namespace
