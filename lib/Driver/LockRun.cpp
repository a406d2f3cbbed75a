//===- LockRun.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LockRun.h"
#include "JudgeRewrite.h"
#include "LockEntries.h"
#include "kb-opt/Assisted/ReplyStore.h"
#include "kb-opt/Eval/CostModel.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

/// Replies that \p steps carry out go beside the lock, so that it replays where no knowledge is.
static llvm::Error keepReplies(Context &context, llvm::ArrayRef<Step> steps, llvm::StringRef lock) {
  ReplyStore from(repliesFolder(context), context.files),
      beside(repliesBeside(lock), context.files);
  for (const Step &step : steps) {
    if (step.reply.empty())
      continue;
    auto reply = from.get(step.reply);
    if (!reply)
      return reply.takeError();
    if (auto kept = beside.put(*reply); !kept)
      return kept.takeError();
  }
  return llvm::Error::success();
}

/// The modelled microseconds of \p program; nothing where its launches are not counted.
static llvm::Expected<double> modelledUs(Session &session, const ProgramArtefacts &program) {
  auto run = session.judge->count(program, countOptions(session.chip));
  if (!run)
    return run.takeError();
  if (run->status != RunStatus::Ok)
    return 0;
  auto code = session.judge->code(program);
  if (!code)
    return code.takeError();
  auto plan = modelPlan(*run, *code, session.chip);
  if (!plan)
    return plan.takeError();
  return plan->us;
}

static void addModelledTime(LockEntry &entry, double originalUs, double rewrittenUs) {
  entry.time.source = "modelled";
  entry.time.originalUs = originalUs;
  entry.time.rewrittenUs = rewrittenUs;
  entry.time.ratio = originalUs / rewrittenUs;
}

/// What was measured of the same code stays where this time nothing was.
static void takeTimes(const LockFile &lock, LockEntry &entry) {
  for (const LockEntry &old : lock.entries)
    if (old.file == entry.file && old.pipeline == entry.pipeline && old.code == entry.code &&
        entry.time.source != "measured" && old.time.source == "measured") {
      entry.time = old.time;
      entry.evidence = old.evidence;
    }
}

static llvm::Error keep(Context &context, llvm::ArrayRef<Step> steps, LockEntry entry) {
  const std::string path = lockPath(context);
  auto lock = readLock(context.files, path);
  if (!lock)
    return lock.takeError();
  takeTimes(*lock, entry);
  for (const LockEntry &old : lock->entries)
    if (old.file == entry.file && old.flags == entry.flags &&
        old.architectures == entry.architectures && old.pipeline != entry.pipeline)
      context.progress.line(
          llvm::formatv(
              "lock: it replaces {0}{1}", old.pipeline,
              old.time.ratio > 0 && entry.time.ratio > 0
                  ? llvm::formatv(", {0:f2} x, by {1:f2} x", old.time.ratio, entry.time.ratio).str()
                  : "")
              .str());
  if (entry.time.ratio > 0 && entry.time.ratio < 1)
    context.err << llvm::formatv("kb-opt: warning: the rewrite in the lock is slower than the "
                                 "original: {0:f2} x\n",
                                 entry.time.ratio);
  if (llvm::Error error = keepReplies(context, steps, path))
    return error;
  if (llvm::Error error = putIntoLock(context.files, path, entry))
    return error;
  context.progress.line("lock: " + entry.file + " is in " + path);
  return llvm::Error::success();
}

llvm::Expected<ExitStatus> kbopt::lockReplayed(Context &context, const PipelineResult &result) {
  auto opened = openSession(context);
  if (!opened)
    return opened.takeError();
  Session &session = **opened;
  CandidatePromise promise;
  promise.result = result.promise;
  promise.assumes = result.assumes;
  ProgramArtefacts artefacts;
  auto verdict = judgeRewrite(session, result.text, promise, artefacts);
  if (!verdict)
    return verdict.takeError();
  context.progress.line("judge: " + verdict->summary());
  if (!verdict->isCorrect()) {
    context.progress.line("lock: the rewrite is not kept");
    return ExitStatus::Diagnostics;
  }
  auto entry = describeRewrite(context, result.applied, result.text, result.promise);
  if (!entry)
    return entry.takeError();
  if (llvm::Error error = addProof(*entry, session, verdict->gates, artefacts))
    return std::move(error);
  if (verdict->timing && verdict->timing->status == RunStatus::Ok) {
    addTime(*entry, *verdict->timing);
  } else {
    auto before = modelledUs(session, session.original), after = modelledUs(session, artefacts);
    if (!before || !after)
      return llvm::joinErrors(before.takeError(), after.takeError());
    if (*before > 0 && *after > 0)
      addModelledTime(*entry, *before, *after);
  }
  if (llvm::Error error = keep(context, result.applied, *entry))
    return std::move(error);
  return ExitStatus::Success;
}

llvm::Error kbopt::lockWinner(Session &session, ProgramEnvironment &environment,
                              const SearchResult &result) {
  Context &context = session.context;
  if (result.pipeline.empty() || !result.confirmed) {
    context.progress.line(
        result.pipeline.empty()
            ? "lock: nothing to keep"
            : "lock: the result was not confirmed on every case, so it is not kept");
    return llvm::Error::success();
  }
  auto entry = describeRewrite(context, result.pipeline, environment.text(result.best),
                               environment.promise(result.best));
  if (!entry)
    return entry.takeError();
  auto artefacts = environment.artefacts(result.best);
  if (!artefacts)
    return artefacts.takeError();
  if (llvm::Error error = addProof(*entry, session, environment.gates(result.best), *artefacts))
    return error;
  addModelledTime(*entry, result.original.timeUs, result.bestUs);
  if (std::optional<TimingReport> timing = environment.timing(result.best))
    addTime(*entry, *timing);
  if (!result.evidence.empty())
    entry->evidence = result.evidence.back().id();
  return keep(context, result.pipeline, *entry);
}
