//===- MaskedReads.cpp - Reads that the checks excuse ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns two exceptions from the checks. A kernel that moves or masks words of shared memory that
// nothing has written, as one that shifts its planes before the first is there, is right. A plain
// load beside atomic operations on the same word is a race in the words of the memory model, and
// gives the old or the new value on every device: searches through graphs are written so.
//
//===----------------------------------------------------------------------===//
#include "JudgeImpl.h"

using namespace llvm;

namespace kbopt {

static constexpr StringLiteral unwrittenShared = "uninitialised-shared";

static constexpr StringLiteral loadBesideAtomic = "race-atomic";

static bool hasFinding(const RunResult &run, StringRef kind) {
  return any_of(run.launches, [&](const LaunchRecord &launch) {
    return any_of(launch.findings,
                  [&](const DeviceFinding &finding) { return finding.kind == kind; });
  });
}

/// Whether \p checked, which \p request asked for, has findings of \p kind and no other defects.
static bool hasNoOther(const RunRequest &request, const RunResult &checked, StringRef kind) {
  if (request.mode != RunMode::Check || checked.status != RunStatus::Ok ||
      !hasFinding(checked, kind))
    return false;
  auto isOther = [&](const DeviceFinding &finding) {
    return !finding.benign && finding.kind != kind;
  };
  return none_of(checked.findings, isOther) &&
         none_of(checked.launches,
                 [&](const LaunchRecord &launch) { return any_of(launch.findings, isOther); });
}

static void makeBenign(RunResult &checked, StringRef kind) {
  for (LaunchRecord &launch : checked.launches)
    for (DeviceFinding &finding : launch.findings)
      finding.benign |= finding.kind == kind;
}

/// Whether the original, on what \p request asks for, has findings of \p kind that were excused.
static Expected<bool> isOriginalsToo(Judge::Impl &judge, const RunRequest &request,
                                     StringRef kind) {
  RunRequest same = request;
  same.options = judge.cpuOptions(judge.baselineProgram);
  same.audited = false;
  Expected<RunPointer> own = judge.run(judge.baselineProgram, same);
  if (!own)
    return own.takeError();
  return (*own)->status == RunStatus::Ok && (*own)->defects().empty() && hasFinding(**own, kind);
}

Error Judge::Impl::excuseMaskedReads(JudgedProgram &program, const RunRequest &request,
                                     RunResult &checked) {
  if (!hasNoOther(request, checked, unwrittenShared))
    return Error::success();
  if (!program.isOriginal) {
    Expected<bool> known = isOriginalsToo(*this, request, unwrittenShared);
    if (!known || !*known)
      return known.takeError();
  }
  // What lay there must not matter: the same results over three fillings.
  RunPointer first;
  for (uint8_t filling : {0xCD, 0x00, 0x3F}) {
    RunOptions options = cpuOptions(program);
    options.sharedPoison = filling;
    Expected<RunPointer> filled = run(program, {request.test, RunMode::Plain, options, Where::Cpu});
    if (!filled)
      return filled.takeError();
    if ((*filled)->status != RunStatus::Ok || (first && firstDifference({}, *first, **filled)))
      return Error::success();
    first = first ? first : *filled;
  }
  makeBenign(checked, unwrittenShared);
  return Error::success();
}

Error Judge::Impl::excuseLoadsBesideAtomics(JudgedProgram &program, const RunRequest &request,
                                            RunResult &checked) {
  if (!hasNoOther(request, checked, loadBesideAtomic))
    return Error::success();
  if (!program.isOriginal) {
    Expected<bool> known = isOriginalsToo(*this, request, loadBesideAtomic);
    if (!known || !*known)
      return known.takeError();
  }
  // Whichever value a load gives, the results are the same.
  RunPointer first;
  for (uint64_t seed : {0, 1, 2, 3}) {
    RunOptions options = cpuOptions(program);
    options.seed = seed;
    Expected<RunPointer> other = run(program, {request.test, RunMode::Plain, options, Where::Cpu});
    if (!other)
      return other.takeError();
    if ((*other)->status != RunStatus::Ok || (first && firstDifference({}, *first, **other)))
      return Error::success();
    first = first ? first : *other;
  }
  makeBenign(checked, loadBesideAtomic);
  return Error::success();
}

} // namespace kbopt
