//===- BuildTests.cpp - The tests of a build ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Database.h"
#include "WrittenBuild.h"
#include "kb-opt/Source/BuildTarget.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/StringSaver.h"

using namespace kbopt;
using llvm::StringRef;
namespace json = llvm::json;

/// \p text, a command as it is typed in \p folder; nothing if it is blank.
static std::optional<ProgramTest> writtenTest(StringRef text, StringRef folder) {
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char *> words;
  llvm::cl::TokenizeGNUCommandLine(text, saver, words);
  if (words.empty())
    return std::nullopt;
  return ProgramTest{text.trim().str(),
                     absolutePath(words.front(), folder),
                     {words.begin() + 1, words.end()},
                     {},
                     folder.str()};
}

static void addTexts(const json::Array *values, std::vector<std::string> &texts) {
  if (values)
    for (const json::Value &value : *values)
      if (auto text = value.getAsString())
        texts.push_back(text->str());
}

/// A test of `ctest --show-only=json-v1`; nothing if it has no command, as where its program is not
/// built, or passes where the command fails.
static std::optional<ProgramTest> ctestTest(const json::Object &object, StringRef folder) {
  std::vector<std::string> words;
  addTexts(object.getArray("command"), words);
  if (words.empty())
    return std::nullopt;
  ProgramTest test{object.getString("name").value_or("").str(),
                   absolutePath(words.front(), folder),
                   {words.begin() + 1, words.end()},
                   {},
                   folder.str()};
  if (const json::Array *properties = object.getArray("properties"))
    for (const json::Value &each : *properties) {
      const json::Object *property = each.getAsObject();
      const StringRef name = property ? property->getString("name").value_or("") : "";
      if ((name == "WILL_FAIL" || name == "DISABLED") &&
          property->getBoolean("value").value_or(false))
        return std::nullopt;
      if (name == "WORKING_DIRECTORY")
        test.workingDirectory = absolutePath(property->getString("value").value_or(folder), folder);
      if (name == "ENVIRONMENT")
        addTexts(property->getArray("value"), test.environment);
    }
  return test;
}

static llvm::Error addCtests(StringRef folder, ProcessRunner &runner,
                             std::vector<ProgramTest> &tests) {
  ProcessRequest request;
  request.argv = {"ctest", "--test-dir", folder.str(), "--show-only=json-v1"};
  request.purpose = "ctest";
  constexpr double mostSeconds = 60;
  request.wallSeconds = mostSeconds;
  request.outputBytes = uint64_t(256) << 20;
  auto cannot = [&](const llvm::Twine &why) {
    return llvm::make_error<UsageError>(
        ("ctest does not list the tests of '" + folder + "': " + why).str(),
        "check with: ctest --test-dir " + folder.str() + " --show-only=json-v1");
  };
  llvm::Expected<ProcessResult> result = runner.run(request);
  if (!result)
    return cannot(llvm::toString(result.takeError()));
  if (!result->succeeded())
    return cannot(result->describe());
  llvm::Expected<json::Value> root = json::parse(result->out);
  if (!root)
    return cannot(llvm::toString(root.takeError()));
  const json::Object *object = root->getAsObject();
  if (const json::Array *all = object ? object->getArray("tests") : nullptr)
    for (const json::Value &each : *all)
      if (const json::Object *test = each.getAsObject())
        if (std::optional<ProgramTest> found = ctestTest(*test, folder))
          tests.push_back(std::move(*found));
  return llvm::Error::success();
}

llvm::Expected<std::vector<ProgramTest>> kbopt::findTests(StringRef folder, ProcessRunner &runner) {
  std::vector<ProgramTest> tests;
  llvm::Expected<WrittenBuild> written = readWrittenBuild(folder);
  if (!written)
    return written.takeError();
  for (StringRef line : written->tests)
    if (std::optional<ProgramTest> test = writtenTest(line, folder))
      tests.push_back(std::move(*test));
  if (llvm::sys::fs::exists(folder + "/CTestTestfile.cmake"))
    if (llvm::Error error = addCtests(folder, runner, tests))
      return std::move(error);
  return tests;
}
