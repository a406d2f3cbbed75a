//===- Main.cpp - From the command line to a mode -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Modes.h"
#include "RecipeFolder.h"
#include "Subcommands.h"
#include "Version.h"
#include "kb-opt/Driver/Driver.h"
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "kb-opt/Report/PassTable.h"
#include "kb-opt/Rewrite/PassFile.h"
#include "kb-opt/Support/CrashReport.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/Support/FileSystem.h"
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
  // Recipes are memory: a search without it does without them.
  if (!options.isAuto() || options.memory)
    for (const std::string &fault :
         loadRecipes(context.files, recipesFolder(knowledgeFolder(options.knowledgeDirectory)),
                     context.passes, options.shippedKnowledge))
      context.err << "kb-opt: warning: " << fault << "\n";
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
  case Emit::Schedules:
    return emitSchedules(context);
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
  std::vector<std::string> inputs = inputsOf(*options);
  // A file that is missing is said before the others are worked on, which may take long.
  if (inputs.size() > 1)
    llvm::erase_if(inputs, [&](const std::string &input) {
      if (input == "-" || llvm::sys::fs::exists(input))
        return false;
      status = report(noSuchFile(input));
      return true;
    });
  for (const std::string &input : inputs) {
    Options one = *options;
    one.input = input;
    status = std::max(status, runOne(std::move(one)));
    if (interrupted() && !isTimeUp())
      break;
  }
  return status;
}

static constexpr llvm::StringLiteral verifyHelp =
    R"(usage: kb-opt verify [options] <original.cu> <candidate.cu>... [-- <compiler flags>]

Judges each candidate as a rewrite of the original by every gate (docs/Verification.md).

  --promise=<p>      bitwise (default): the same bits; reassociates: sums in another order;
                     lower-precision: the workload's tolerance
  --by-passes        The candidates are what kb-opt's passes made: what their guards keep out may
                     be executed in no case
  -p <dir>           Folder with compile_commands.json: the file is run as part of a program
  --target=<program> Which program of that build
  --workload=<file>  How the program or function is run (docs/Workloads.md)
  --device=<name>    cpu (default), cuda, cuda:all, or spool:<dir>
  --help             Print this text; the other options are those of kb-opt --help

Exit status: 0 all are correct, 1 one is not, or is undecided, 2 usage, 3 something is missing.
)";

int kbopt::runVerifyCommand(llvm::ArrayRef<const char *> arguments) {
  for (llvm::StringRef word : arguments) {
    if (word == "--")
      break;
    if (word == "--help" || word == "-h" || word == "-help") {
      llvm::outs() << verifyHelp;
      return 0;
    }
  }
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
