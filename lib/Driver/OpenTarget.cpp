//===- OpenTarget.cpp - The program of a build that a file is part of -----===//
// SPDX-License-Identifier: Apache-2.0
#include "Context.h"
#include "kb-opt/Source/BuildTarget.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
namespace path = llvm::sys::path;

/// As the user calls it.
static llvm::StringRef nameOf(const BuildTarget &target) { return path::filename(target.program); }

static llvm::Error noSuchTarget(const Context &context, llvm::ArrayRef<BuildTarget> targets) {
  std::string names;
  for (const BuildTarget &target : targets)
    names += (names.empty() ? "" : ", ") + nameOf(target).str();
  return llvm::make_error<UsageError>(
      "no program '" + context.options.target + "' of the build has '" + context.options.input +
          "'",
      names.empty() ? "name a build folder with -p; ninja, make by CMake, or a file .kb-opt in it "
                      "say what is linked"
                    : "those that do are " + names);
}

/// A build that does not say what it links or tests is done without, as \p effect says; what it
/// links and cannot be followed is an error.
static llvm::Error warnOfBuild(Context &context, llvm::Error error, const llvm::Twine &effect) {
  return llvm::handleErrors(std::move(error), [&](std::unique_ptr<KbError> why) -> llvm::Error {
    if (why->status == ExitStatus::Diagnostics)
      return llvm::Error(std::move(why));
    context.err << "kb-opt: warning: " << why->message << "; " << effect << "\n";
    return llvm::Error::success();
  });
}

/// \p file as part of \p target.
static CompileCommand commandIn(const BuildTarget &target, CompileCommand file) {
  file.program = target.program;
  file.units = target.units;
  if (target.linksDeviceCode)
    file.makeRelocatable();
  llvm::append_range(file.linkFlags, target.linkFlags);
  return file;
}

/// The one that the user named. Else, of those that can be followed, the first that a test runs if
/// \p preferTested, or the first. Null where there is none.
static const BuildTarget *chooseTarget(llvm::StringRef wanted, llvm::ArrayRef<BuildTarget> targets,
                                       llvm::ArrayRef<ProgramTest> tests, bool preferTested) {
  const BuildTarget *chosen = nullptr;
  for (const BuildTarget &target : targets) {
    if (!wanted.empty() && (nameOf(target) == wanted || target.program == wanted))
      return &target;
    const bool isTested = llvm::any_of(
        tests, [&](const ProgramTest &test) { return test.program == target.program; });
    if (wanted.empty() && target.problem.empty() && preferTested && isTested)
      return &target;
    if (wanted.empty() && (!chosen || (!chosen->problem.empty() && target.problem.empty())))
      chosen = &target;
  }
  return chosen;
}

/// More of them would take longer than they tell.
static constexpr size_t mostTests = 16;

/// Takes over how \p tests run the program of the input, and others of \p targets, which \p file
/// goes into as well.
static void takeTests(Context &context, const CompileCommand &file,
                      llvm::ArrayRef<BuildTarget> targets, llvm::ArrayRef<ProgramTest> tests) {
  size_t leftOut = 0;
  for (const ProgramTest &test : tests) {
    auto target = llvm::find_if(
        targets, [&](const BuildTarget &each) { return each.program == test.program; });
    if (target == targets.end() || !target->problem.empty())
      continue; // the file is not in it, or it cannot be followed
    if (context.tests.size() == mostTests) {
      ++leftOut;
      continue;
    }
    const bool isOwn = test.program == context.command.program;
    if (!isOwn && !context.command.findProgram(test.program))
      context.command.others.push_back(commandIn(*target, file));
    context.tests.push_back({"test '" + test.name + "'", isOwn ? "" : test.program, test.arguments,
                             test.environment, test.workingDirectory});
  }
  if (leftOut)
    context.progress.line("only the first " + std::to_string(mostTests) +
                          " tests of the build are run, not " + std::to_string(leftOut) + " more");
}

llvm::Error kbopt::openTarget(Context &context) {
  const std::string &wanted = context.options.target, &input = context.options.input;
  auto workload = findWorkload(context.command.file, context.options.workload);
  if (!workload)
    return workload.takeError();
  if (wanted.empty() && *workload && (*workload)->kind != WorkloadKind::Program) {
    if (!context.options.databaseFolder.empty())
      context.progress.line("'" + input + "' is run by its workload, which calls '" +
                            (*workload)->entry +
                            "'; --target=<program> runs a program of the build");
    return llvm::Error::success();
  }
  auto targets = findTargets(context.command, context.runner);
  if (!targets && wanted.empty())
    return warnOfBuild(context, targets.takeError(), "'" + input + "' is run by itself");
  if (!targets)
    return targets.takeError();
  std::vector<ProgramTest> tests;
  if (!targets->empty()) {
    auto found = findTests(path::parent_path(context.command.database), context.runner);
    if (found)
      tests = std::move(*found);
    else if (llvm::Error error = warnOfBuild(context, found.takeError(), "its tests are not run"))
      return error;
  }
  const BuildTarget *chosen = chooseTarget(wanted, *targets, tests, !*workload);
  if (!chosen)
    return wanted.empty() ? llvm::Error::success() : noSuchTarget(context, *targets);
  if (!chosen->problem.empty())
    return llvm::make_error<UsageError>(chosen->problem, chosen->next, ExitStatus::Diagnostics);
  for (const BuildTarget &target : *targets)
    if (wanted.empty() && !target.problem.empty())
      context.err << "kb-opt: warning: " << target.problem << "; it is not run\n";
  const CompileCommand file = context.command;
  context.command = commandIn(*chosen, file);
  takeTests(context, file, *targets, tests);
  const size_t units = chosen->units.size(), runs = context.tests.size();
  std::string text = llvm::formatv("'{0}' is run as part of program '{1}', with {2} other CUDA {3}",
                                   input, nameOf(*chosen), units, units == 1 ? "file" : "files");
  if (runs)
    text += llvm::formatv(" and in {0} {1} of the build", runs, runs == 1 ? "test" : "tests");
  auto own =
      llvm::find_if(context.tests, [](const ProgramRun &run) { return run.program.empty(); });
  if (own != context.tests.end() && !*workload)
    text += "; what is made fast is " + own->name +
            (own->arguments.empty() ? "" : ": " + llvm::join(own->arguments, " "));
  if (units || runs || !chosen->linkFlags.empty())
    context.progress.line(text);
  return llvm::Error::success();
}
