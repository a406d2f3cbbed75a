//===- TargetInput.cpp - Where a program of a build spends its time -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the choice of the file where none is named: of a program's files that whose kernels take the
// most time.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "ProfileParts.h"
#include "kb-opt/Source/BuildTarget.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace kbopt;
namespace path = llvm::sys::path;

/// \p file as a user in the current folder writes it.
static std::string shownPath(llvm::StringRef file) {
  llvm::SmallString<128> here;
  if (llvm::sys::fs::current_path(here))
    return file.str();
  here += "/";
  return file.starts_with(here) ? file.drop_front(here.size()).str() : file.str();
}

/// Microseconds by file of the program that \p file is part of; nothing where that has no kernels.
static llvm::Expected<std::map<std::string, double>> timesByFile(const Options &options,
                                                                 const std::string &file) {
  Progress progress(llvm::errs(), llvm::sys::Process::StandardErrIsDisplayed(), options.quiet,
                    options.verbose);
  Context context(progress, llvm::outs(), llvm::errs());
  context.options = options;
  context.options.input = file;
  context.options.output.clear();
  auto session = openSession(context);
  if (!session)
    return session.takeError();
  auto parsed = context.parser.parse(context.command, context.text);
  if (!parsed)
    return parsed.takeError();
  ProfilePage page;
  auto kernels = profileOriginal(**session, **parsed, page);
  auto files = kernelFiles((*session)->original.bitcodePath);
  if (!kernels || !files)
    return llvm::joinErrors(kernels.takeError(), files.takeError());
  std::map<std::string, double> times;
  for (const ProfiledKernel &kernel : *kernels)
    times[(*files)[kernel.longest]] += kernel.page.us;
  for (auto &[name, us] : times)
    progress.line(llvm::formatv("program '{0}': {1}, {2:f2} us in kernels, {3}", options.target,
                                shownPath(name), us, page.source)
                      .str());
  return times;
}

llvm::Expected<std::string> kbopt::inputOfTarget(const Options &options) {
  auto files = filesOfTarget(options.databaseFolder, options.target, realProcessRunner());
  if (!files)
    return files.takeError();
  llvm::Error last = llvm::make_error<UsageError>(
      "program '" + options.target + "' has no CUDA files", "name a CUDA file");
  if (files->size() == 1) // nothing to choose from
    return shownPath(files->front());
  for (const std::string &file : *files) {
    auto times = timesByFile(options, shownPath(file));
    if (times && !times->empty()) {
      llvm::consumeError(std::move(last));
      auto most = std::max_element(times->begin(), times->end(), [](const auto &a, const auto &b) {
        return a.second < b.second;
      });
      return shownPath(most->first);
    }
    if (!times) { // it has no kernels, say
      llvm::consumeError(std::move(last));
      last = times.takeError();
    }
  }
  return std::move(last);
}
