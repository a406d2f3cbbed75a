//===- LockEntries.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LockEntries.h"
#include "Version.h"
#include "kb-opt/Lock/Closure.h"
#include "kb-opt/Lock/LineDirectives.h"
#include "kb-opt/Lock/LockFlags.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Pipeline/PipelineText.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

std::string kbopt::lockPath(const Context &context) {
  return context.options.lockFile.empty()
             ? findLock(context.command.file, sourceFolderOf(context.command.database))
             : context.options.lockFile;
}

std::string kbopt::lockOfBuild(llvm::StringRef databaseFolder) {
  const std::string project =
      databaseFolder.empty() ? ""
                             : sourceFolderOf((databaseFolder + "/compile_commands.json").str());
  llvm::SmallString<128> any(project);
  llvm::sys::fs::make_absolute(any);
  llvm::sys::path::append(any, "any");
  return findLock(any, project);
}

std::string kbopt::repliesBeside(llvm::StringRef lock) { return (lock + ".replies").str(); }

void kbopt::addTime(LockEntry &entry, const TimingReport &timing) {
  entry.time.source = "measured";
  entry.time.originalUs = timing.cold.baseline.medianUs;
  entry.time.rewrittenUs = timing.cold.candidate.medianUs;
  entry.time.ratio = timing.cold.ratio;
  entry.time.atLeast = timing.cold.ratioLowerBound;
}

static std::vector<std::string> kernelsOf(llvm::ArrayRef<Step> steps,
                                          const ParsedProgram &program) {
  std::set<std::string> names;
  for (const Step &step : steps)
    names.insert(step.kernel);
  if (names.contains("")) { // a step for all of them
    names.clear();
    for (const KernelFact &kernel : findKernels(program))
      names.insert(kernel.name);
  }
  return {names.begin(), names.end()};
}

llvm::Expected<LockEntry> kbopt::describeRewrite(Context &context, llvm::ArrayRef<Step> steps,
                                                 llvm::StringRef rewritten, Promise promise) {
  auto before = context.parser.parse(context.command, context.text);
  if (!before)
    return before.takeError();
  auto after = context.parser.parse(context.command, rewritten);
  if (!after)
    return after.takeError();
  LockEntry entry;
  entry.file = nameInLock(context.command.file, lockPath(context));
  entry.kernels = kernelsOf(steps, **before);
  entry.pipeline = printPipeline(steps);
  const ClosureRoots roots = closureRoots(**before, entry.kernels);
  entry.closure = closureDigest(**before, roots);
  entry.output = closureDigest(**after, roots);
  entry.flags = lockedFlags(context.command);
  entry.architectures = lockedArchitectures(context.command);
  entry.promise = promiseName(promise).str();
  entry.tool = kbOptVersion().str();
  entry.target = llvm::sys::path::filename(context.command.program).str();
  return entry;
}

llvm::Error kbopt::addProof(LockEntry &entry, Session &session, llvm::ArrayRef<GateRecord> gates,
                            const ProgramArtefacts &rewritten) {
  for (const GateRecord &gate : gates)
    if (gate.outcome == GateOutcome::Passed)
      entry.gates.push_back(toString(gate.gate).str());
  auto baseline = session.judge->baseline();
  if (!baseline)
    return baseline.takeError();
  for (const TestCase &test : baseline->admitted)
    entry.shapes.push_back(test.name);
  auto code = session.judge->code(rewritten);
  if (!code)
    return code.takeError();
  entry.code.push_back({code->arch, code->digest});
  entry.time.chip = session.chip.name;
  return llvm::Error::success();
}

static std::string join(llvm::ArrayRef<std::string> words) {
  return words.empty() ? "none" : llvm::join(words, " ");
}

llvm::Expected<LockState> kbopt::replayEntry(Context &context, const LockEntry &entry) {
  LockState state;
  auto stale = [&](const std::string &reason) {
    state.reason = reason;
    return state;
  };
  const std::vector<std::string> flags = lockedFlags(context.command);
  if (flags != entry.flags)
    return stale("it is compiled with other flags: " + join(flags) + ", proven with " +
                 join(entry.flags));
  const std::vector<std::string> architectures = lockedArchitectures(context.command);
  if (architectures != entry.architectures)
    return stale("it is compiled for " + join(architectures) + ", proven for " +
                 join(entry.architectures));
  auto before = context.parser.parse(context.command, context.text);
  if (!before)
    return before.takeError();
  const ClosureRoots roots = closureRoots(**before, entry.kernels);
  if (closureDigest(**before, roots) != entry.closure)
    return stale("what " + (entry.kernels.size() == 1 ? "kernel " : std::string("kernels ")) +
                 join(entry.kernels) + " depends on has changed");
  PipelineOptions options;
  options.registry = &context.passes;
  options.parser = &context.parser;
  options.replies = repliesBeside(lockPath(context));
  options.target = entry.time.chip; // schedules are chosen for it
  auto result = runPipeline(context.text, context.command, entry.pipeline, options);
  if (!result)
    return stale("its pipeline does not run: " + llvm::toString(result.takeError()));
  auto after = context.parser.parse(context.command, result->text);
  if (!after)
    return stale("its pipeline makes a program that does not parse: " +
                 llvm::toString(after.takeError()));
  if (closureDigest(**after, roots) != entry.output)
    return stale("its pipeline makes another program than the one that was proven with kb-opt " +
                 entry.tool);
  state.isFresh = true;
  state.lines = withLineDirectives(context.text, result->text, context.command.shownFile,
                                   (*after)->language());
  state.text = std::move(result->text);
  return state;
}

llvm::Expected<LockState> kbopt::replayLocked(Context &context, const LockFile &lock,
                                              llvm::StringRef name) {
  LockState last;
  last.reason = "no entry";
  const auto flags = lockedFlags(context.command);
  const auto architectures = lockedArchitectures(context.command);
  // An entry with these flags says most about why it is stale.
  for (bool fits : {false, true})
    for (const LockEntry &entry : lock.entries) {
      if (entry.file != name ||
          (entry.flags == flags && entry.architectures == architectures) != fits)
        continue;
      auto state = replayEntry(context, entry);
      if (!state || state->isFresh)
        return state;
      last = std::move(*state);
    }
  return last;
}
