//===- Main.cpp - From the command line to a mode -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Modes.h"
#include "Subcommands.h"
#include "Version.h"
#include "kb-opt/Driver/Driver.h"
#include "kb-opt/Report/PassTable.h"
#include "kb-opt/Rewrite/PassFile.h"
#include "kb-opt/Support/CrashReport.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/Support/Process.h"

using namespace kbopt;

static llvm::Expected<ExitStatus> dispatch(Context &context) {
  const Options &options = context.options;
  if (options.help) {
    printHelp(context.out);
    return ExitStatus::Success;
  }
  if (options.version) {
    context.out << "kb-opt " << versionText() << "\n";
    return ExitStatus::Success;
  }
  for (const std::string &folder : options.passFolders)
    if (llvm::Error error = loadPasses(context.files, folder, context.passes))
      return std::move(error);
  if (options.listPasses) {
    writePassTable(context.out, context.passes.infos());
    return ExitStatus::Success;
  }
  if (options.emit == Emit::LaunchMap)
    return emitLaunchMap(context);
  if (!options.judge.empty())
    return runJudge(context);
  if (!options.reply.empty())
    return applyAnswer(context);
  switch (options.emit) {
  case Emit::KbIr:
    return emitKbIr(context);
  case Emit::KbNest:
    return emitKbNest(context);
  case Emit::Plan:
    return emitPlan(context);
  case Emit::Job:
    return emitJob(context);
  case Emit::Workload:
    return emitWorkload(context);
  case Emit::Profile:
  case Emit::ProfileJson:
    return runProfile(context);
  case Emit::Findings:
  case Emit::FindingsYaml:
  case Emit::FindingsJson:
  case Emit::Sarif:
    return runAnalyze(context);
  case Emit::Anchors:
    return emitAnchors(context);
  case Emit::LaunchMap: // above
  case Emit::Diff:
  case Emit::Source:
    return options.isAuto() ? runAuto(context) : runReplay(context);
  }
  llvm_unreachable("unknown --emit");
}

static int report(llvm::Error error) {
  return static_cast<int>(reportError(llvm::errs(), "kb-opt", std::move(error)));
}

/// Does what \p options say for `input` alone.
static int runOne(Options options) {
  if (llvm::Error error = checkFilesDiffer(options))
    return report(std::move(error));
  Progress progress(llvm::errs(), llvm::sys::Process::StandardErrIsDisplayed(), options.quiet,
                    options.verbose);
  Context context(progress, llvm::outs(), llvm::errs());
  context.options = std::move(options);
  if (auto settings = modelSettings(context.options, context.files))
    context.model = std::move(*settings);
  else
    return report(settings.takeError());
  if (!context.options.timeTrace.empty())
    context.timings.keepSpans();
  auto status = dispatch(context);
  progress.clear();
  if (!context.options.timeTrace.empty())
    if (llvm::Error error =
            context.files.write(context.options.timeTrace, context.timings.trace())) {
      const int failed = report(std::move(error));
      return status ? failed : report(status.takeError());
    }
  if (!status)
    return report(status.takeError());
  if (!context.options.depfile.empty())
    if (llvm::Error error = writeDependencies(context))
      return report(std::move(error));
  return static_cast<int>(*status);
}

/// One file after the other; what goes wrong with one leaves the others alone. The greatest status.
static int runWith(llvm::Expected<Options> options) {
  if (!options)
    return report(options.takeError());
  if (options->input.empty() && !options->target.empty() && !options->help && !options->version &&
      !options->listPasses) {
    const double startSeconds = realClock().monotonicSeconds();
    auto input = inputOfTarget(*options);
    if (!input)
      return report(input.takeError());
    options->input = std::move(*input);
    constexpr double leastSeconds = 1; // zero would be no budget
    if (options->budgetSeconds > 0)
      options->budgetSeconds = std::max(leastSeconds, options->budgetSeconds + startSeconds -
                                                          realClock().monotonicSeconds());
  }
  int status = 0;
  for (const std::string &input : inputsOf(*options)) {
    Options one = *options;
    one.input = input;
    status = std::max(status, runOne(std::move(one)));
    if (interrupted() && !isTimeUp())
      break;
  }
  return status;
}

int kbopt::runVerifyCommand(llvm::ArrayRef<const char *> arguments) {
  return runWith(parseOptions(arguments, /*verifies=*/true));
}

int kbopt::runKbOpt(int argc, char **argv) {
  const bool isDetached = ignoresHangup(); // LLVM's handlers, which come next, would hide it
  CrashReport report(argc, argv);
  installInterruptHandler(isDetached);
  if (argc > 1)
    if (const Subcommand *verb = findSubcommand(argv[1]))
      return verb->run(llvm::ArrayRef<const char *>(argv, argc).drop_front(2));
  return runWith(parseOptions(llvm::ArrayRef<const char *>(argv, argc).drop_front()));
}
