//===- OpenTarget.cpp - The program of a build that a file is part of -----===//
#include "Context.h"
#include "kb-opt/Source/BuildTarget.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
namespace path = llvm::sys::path;

/// Whether the workload calls a function of the file by itself.
static llvm::Expected<bool> callsFunction(const Context &context) {
  auto workload = findWorkload(context.command.file, context.options.workload);
  if (!workload)
    return workload.takeError();
  return *workload && (*workload)->kind != WorkloadKind::Program;
}

static llvm::Error noSuchTarget(const Context &context, llvm::ArrayRef<BuildTarget> targets) {
  std::string names;
  for (const BuildTarget &target : targets)
    names += (names.empty() ? "" : ", ") + path::filename(target.program).str();
  return llvm::make_error<UsageError>(
      "no program '" + context.options.target + "' of the build has '" + context.options.input +
          "'",
      names.empty() ? "name a build folder with -p; ninja, make by CMake, or a file .kb-opt in it "
                      "say what is linked"
                    : "those that do are " + names);
}

/// A build that does not say what it links leaves the file to itself; what it links and cannot be
/// followed is an error.
static llvm::Error warnOfBuild(Context &context, llvm::Error error) {
  return llvm::handleErrors(std::move(error), [&](std::unique_ptr<KbError> why) -> llvm::Error {
    if (why->status == ExitStatus::Diagnostics)
      return llvm::Error(std::move(why));
    context.err << "kb-opt: warning: " << why->message << "; '" << context.options.input
                << "' is run by itself\n";
    return llvm::Error::success();
  });
}

llvm::Error kbopt::openTarget(Context &context) {
  const std::string &wanted = context.options.target;
  if (wanted.empty()) {
    auto calls = callsFunction(context);
    if (!calls || *calls)
      return calls.takeError();
  }
  auto targets = findTargets(context.command, context.runner);
  if (!targets && wanted.empty())
    return warnOfBuild(context, targets.takeError());
  if (!targets)
    return targets.takeError();
  auto chosen = llvm::find_if(*targets, [&](const BuildTarget &target) {
    return wanted.empty() || path::filename(target.program) == wanted || target.program == wanted;
  });
  if (chosen == targets->end())
    return wanted.empty() ? llvm::Error::success() : noSuchTarget(context, *targets);
  CompileCommand &command = context.command;
  context.target = path::filename(chosen->program).str();
  command.units = std::move(chosen->units);
  llvm::append_range(command.linkFlags, chosen->linkFlags);
  if (!command.units.empty() || !chosen->linkFlags.empty())
    context.progress.line(
        llvm::formatv("'{0}' is run as part of program '{1}', with {2} other CUDA {3}",
                      context.options.input, context.target, command.units.size(),
                      command.units.size() == 1 ? "file" : "files")
            .str());
  return llvm::Error::success();
}
