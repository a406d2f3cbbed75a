//===- MaskedReads.cpp - Reads of shared memory that change no result ------===//
//
// Owns one exception from the checks: a kernel that moves or masks words of shared memory that
// nothing has written, as one that shifts its planes before the first is there, is right.
//
//===----------------------------------------------------------------------===//
#include "JudgeImpl.h"

using namespace llvm;

namespace kbopt {

static constexpr StringLiteral unwrittenShared = "uninitialised-shared";

static bool readsUnwritten(const RunResult &run) {
  return any_of(run.launches, [](const LaunchRecord &launch) {
    return any_of(launch.findings,
                  [](const DeviceFinding &finding) { return finding.kind == unwrittenShared; });
  });
}

Error Judge::Impl::excuseMaskedReads(JudgedProgram &program, const RunRequest &request,
                                     RunResult &checked) {
  if (request.mode != RunMode::Check || checked.status != RunStatus::Ok || !readsUnwritten(checked))
    return Error::success();
  auto isDefect = [](const DeviceFinding &finding) { return !finding.benign; };
  if (any_of(checked.findings, isDefect))
    return Error::success();
  for (const LaunchRecord &launch : checked.launches)
    for (const DeviceFinding &finding : launch.findings)
      if (isDefect(finding) && finding.kind != unwrittenShared)
        return Error::success();
  if (!program.isOriginal) {
    RunRequest same = request;
    same.options = cpuOptions(baselineProgram);
    Expected<RunPointer> own = run(baselineProgram, same);
    if (!own)
      return own.takeError();
    if ((*own)->status != RunStatus::Ok || !(*own)->defects().empty() || !readsUnwritten(**own))
      return Error::success();
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
  for (LaunchRecord &launch : checked.launches)
    for (DeviceFinding &finding : launch.findings)
      finding.benign |= finding.kind == unwrittenShared;
  return Error::success();
}

} // namespace kbopt
