//===- PassRegistryTest.cpp - Registry and options --------------------------===//

#include "kb-opt/Rewrite/PassRegistry.h"
#include "kb-opt/Rewrite/RewritePass.h"
#include "kb-opt/Support/Error.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

std::string messageOf(llvm::Error error, std::string *note = nullptr) {
  std::string message;
  llvm::handleAllErrors(std::move(error), [&](const UsageError &usage) {
    message = usage.message;
    if (note)
      *note = usage.note;
  });
  return message;
}

TEST(PassRegistry, HasTheBuiltinPassesSorted) {
  auto passes = builtinPasses().passes();
  ASSERT_GE(passes.size(), 8u);
  for (size_t i = 1; i < passes.size(); ++i)
    EXPECT_LT(passes[i - 1].info->name, passes[i].info->name);
  for (const PassRegistration &pass : passes)
    EXPECT_NE(pass.create(), nullptr) << pass.info->name.str();
}

TEST(PassRegistry, EveryDeclarationIsComplete) {
  for (const PassInfo *info : builtinPasses().infos()) {
    EXPECT_FALSE(info->summary.empty()) << info->name.str();
    EXPECT_FALSE(info->description.empty()) << info->name.str();
    EXPECT_FALSE(info->states.empty()) << info->name.str();
    for (const OptionInfo &option : info->options) {
      PassOptions values(*info);
      EXPECT_FALSE(bool(values.set(option.name, option.defaultValue))) << option.name.str();
      for (llvm::StringRef value : option.tuning)
        EXPECT_FALSE(bool(values.set(option.name, value))) << option.name.str() << value.str();
    }
  }
}

TEST(PassRegistry, NamesAreUnique) {
  std::set<std::string> names;
  for (const PassInfo *info : builtinPasses().infos()) {
    EXPECT_TRUE(names.insert(info->name.str()).second);
    for (llvm::StringRef alias : info->aliases)
      EXPECT_TRUE(names.insert(alias.str()).second) << alias.str();
  }
}

TEST(PassRegistry, FindsByNameAndAlias) {
  const PassRegistration *pass = builtinPasses().lookup("vectorize-stores");
  ASSERT_NE(pass, nullptr);
  EXPECT_EQ(pass->info->name, "vectorize-loads");
  EXPECT_EQ(builtinPasses().lookup("no-such-pass"), nullptr);
}

TEST(PassRegistry, SuggestsOnlyWhatIsClose) {
  EXPECT_EQ(builtinPasses().nearest("unrol-loop"), "unroll-loop");
  EXPECT_EQ(builtinPasses().nearest("vectorise-loads"), "vectorize-loads");
  EXPECT_EQ(builtinPasses().nearest("banana"), std::nullopt);
}

TEST(PassOptions, DefaultsAndValues) {
  const PassInfo &info = *builtinPasses().lookup("unroll-loop")->info;
  PassOptions options(info);
  EXPECT_EQ(options.integer("factor"), 4);
  ASSERT_FALSE(bool(options.set("factor", "8")));
  EXPECT_EQ(options.integer("factor"), 8);
  EXPECT_EQ(options.all().front(), (std::pair<std::string, std::string>("factor", "8")));
}

TEST(PassOptions, RefusesWhatIsWrong) {
  PassOptions options(*builtinPasses().lookup("unroll-loop")->info);
  std::string note;
  EXPECT_EQ(messageOf(options.set("facter", "8"), &note),
            "pass 'unroll-loop' has no option 'facter'");
  EXPECT_EQ(note, "did you mean 'factor'?");
  EXPECT_EQ(messageOf(options.set("factor", "many"), &note),
            "'many' is no value for option 'factor' of 'unroll-loop'");
  EXPECT_EQ(note, "give an integer from 2 to 64, as in unroll-loop{factor=4}");
  EXPECT_NE(messageOf(options.set("factor", "65")), "");
  EXPECT_NE(messageOf(options.set("factor", "1")), "");
  PassOptions flags(*builtinPasses().lookup("add-restrict-const")->info);
  EXPECT_NE(messageOf(flags.set("const", "yes")), "");
  EXPECT_FALSE(bool(flags.set("const", "false")));
  EXPECT_FALSE(flags.boolean("const"));
}

} // namespace
