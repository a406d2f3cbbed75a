//===- LinkSteps.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LinkSteps.h"
#include "Database.h"
#include "WrittenBuild.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/StringSaver.h"

using namespace kbopt;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static bool isLibrary(StringRef word) {
  const StringRef name = path::filename(word);
  return name.ends_with(".a") || name.ends_with(".so") || name.contains(".so.");
}

static bool isObject(StringRef word) { return word.ends_with(".o") || word.ends_with(".obj"); }

/// The step that \p words, a tool and its arguments, make; nothing if they link nothing.
static std::optional<LinkStep> stepOf(llvm::ArrayRef<std::string> words, StringRef folder) {
  LinkStep step;
  step.folder = folder.str();
  const StringRef tool = path::filename(words.front());
  step.words.assign(words.begin() + 1, words.end());
  const bool isArchiver = tool == "ar" || tool.ends_with("-ar") || tool.contains("llvm-ar");
  bool isCompile = false, hasOutput = false;
  for (size_t i = 0; i < step.words.size(); ++i) {
    const StringRef word = step.words[i];
    if (isArchiver ? !hasOutput && word.ends_with(".a") : word == "-o" || word == "--output-file") {
      if (!isArchiver && ++i == step.words.size())
        return std::nullopt;
      step.output = absolutePath(step.words[i], folder);
      hasOutput = true;
    } else if (word == "-c" || word == "-dc" || word == "--compile") {
      isCompile = true;
    } else if (word == "-shared" || word == "--shared") {
      step.kind = LinkStep::Kind::Shared;
    } else if (word == "-dlink" || word == "--device-link") {
      step.kind = LinkStep::Kind::DeviceLink;
    } else if (!word.starts_with("-") && (isObject(word) || isLibrary(word))) {
      step.objects.push_back(absolutePath(word, folder));
    }
  }
  if (isArchiver)
    step.kind = LinkStep::Kind::Archive;
  if (isCompile || !hasOutput || step.objects.empty())
    return std::nullopt;
  return step;
}

/// The words of \p text, those of response files (`@file`, nvcc's `--options-file file`) in their
/// places.
static void addWords(StringRef text, StringRef folder, unsigned depth,
                     std::vector<std::string> &words) {
  constexpr unsigned mostDepth = 4;
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char *> tokens;
  llvm::cl::TokenizeGNUCommandLine(text, saver, tokens);
  for (size_t i = 0; i < tokens.size(); ++i) {
    StringRef token = tokens[i], file = token;
    if ((token == "--options-file" || token == "-optf") && i + 1 < tokens.size())
      file = tokens[++i];
    else if (!file.consume_front("@") && !file.consume_front("--options-file="))
      file = "";
    llvm::Expected<std::string> response = !file.empty() && depth < mostDepth
                                               ? realFileSystem().read(absolutePath(file, folder))
                                               : llvm::Expected<std::string>("");
    if (!response) {
      llvm::consumeError(response.takeError()); // it is a word as any other
      words.push_back(token.str());
    } else if (!file.empty() && depth < mostDepth) {
      addWords(*response, folder, depth + 1, words);
    } else {
      words.push_back(token.str());
    }
  }
}

std::vector<LinkStep> kbopt::linkStepsOf(StringRef text, StringRef folder) {
  std::vector<std::string> all, words;
  addWords(text, folder, /*depth=*/0, all);
  std::vector<LinkStep> steps;
  auto end = [&] {
    if (!words.empty())
      if (std::optional<LinkStep> step = stepOf(words, folder))
        steps.push_back(std::move(*step));
    words.clear();
  };
  for (std::string &word : all)
    if (word == "&&" || word == ";" || word == ":")
      end();
    else
      words.push_back(std::move(word));
  end();
  return steps;
}

static void addLines(StringRef text, StringRef folder, std::vector<LinkStep> &steps) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    llvm::append_range(steps, linkStepsOf(line, folder));
}

static llvm::Error readNinja(StringRef folder, ProcessRunner &runner,
                             std::vector<LinkStep> &steps) {
  ProcessRequest request;
  request.argv = {"ninja", "-C", folder.str(), "-t", "commands"};
  request.purpose = "ninja";
  constexpr double mostSeconds = 60;
  request.wallSeconds = mostSeconds;
  request.outputBytes = uint64_t(256) << 20;
  llvm::Expected<ProcessResult> result = runner.run(request);
  if (!result || !result->succeeded())
    return llvm::make_error<UsageError>(
        "ninja does not say how '" + folder.str() +
            "' is built: " + (result ? result->describe() : llvm::toString(result.takeError())),
        "install ninja-build, or check with: ninja -C " + folder.str() + " -t commands");
  addLines(result->out, folder, steps);
  return llvm::Error::success();
}

/// CMake's scripts for make: `…/CMakeFiles/app.dir/link.txt`, and dlink.txt beside it for device
/// code, run where CMakeFiles lies.
static llvm::Error readScripts(StringRef folder, std::vector<LinkStep> &steps) {
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; entry != end && !failed;
       entry.increment(failed)) {
    const StringRef name = path::filename(entry->path());
    if (name != "link.txt" && name != "dlink.txt")
      continue;
    llvm::Expected<std::string> text = realFileSystem().read(entry->path());
    if (!text)
      return text.takeError();
    const StringRef target = path::parent_path(entry->path());
    addLines(*text, path::parent_path(path::parent_path(target)), steps);
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<LinkStep>> kbopt::readLinkSteps(StringRef folder,
                                                           ProcessRunner &runner) {
  std::vector<LinkStep> steps;
  llvm::Expected<WrittenBuild> written = readWrittenBuild(folder);
  if (!written)
    return written.takeError();
  for (StringRef line : written->link)
    addLines(line, folder, steps);
  if (!written->link.empty())
    return steps;
  if (llvm::Error error = fs::exists(folder + "/build.ninja") ? readNinja(folder, runner, steps)
                                                              : readScripts(folder, steps))
    return std::move(error);
  return steps;
}
