//===- Provenance.cpp - Gate G0: where a candidate comes from -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the proof that a candidate is the original plus edits inside their
// anchors, compiled with the same flags, and that the verdict rests on the
// same input, harness and baseline image as the original's own run.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

static size_t lineAt(StringRef text, size_t offset) {
  return 1 + text.take_front(offset).count('\n');
}

/// How \p step leaves its anchors; nothing if it does not.
///
/// The pieces of `before` between the edits must stand in `after`, in order, the
/// first at its start and the last at its end. What lies between them is then what
/// took the place of the edits. Looking for each piece as far left as possible finds
/// such a division if there is one.
static std::optional<std::string> leavesAnchors(const JudgedStep &step) {
  StringRef before = step.before, after = step.after;
  size_t kept = 0, at = 0; // how far both texts are explained
  auto outside = [&] {
    size_t common = 0, shorter = std::min(before.size(), after.size());
    while (common < shorter && before[common] == after[common])
      ++common;
    return formatv("pass {0} changes the program outside its anchors, at or after line {1}",
                   step.pass, lineAt(before, std::max(common, kept)))
        .str();
  };
  bool first = true;
  for (const JudgedEdit &edit : step.edits) {
    size_t end = edit.offset + edit.length;
    if (edit.offset < kept || end > before.size())
      return formatv("pass {0}: the edit at line {1} overlaps another one or leaves the file",
                     step.pass, lineAt(before, edit.offset));
    if (edit.offset < edit.anchorBegin || end > edit.anchorEnd)
      return formatv("pass {0}: the edit at line {1} leaves its anchor, the {2}", step.pass,
                     lineAt(before, edit.offset), edit.anchor);
    StringRef piece = before.slice(kept, edit.offset);
    size_t found = after.find(piece, at);
    if (found == StringRef::npos || (first && found != 0))
      return outside();
    first = false;
    kept = end;
    at = found + piece.size();
  }
  StringRef rest = before.substr(kept);
  if (first ? before != after : !after.substr(at).ends_with(rest))
    return outside();
  return std::nullopt;
}

/// How the way from \p original to \p candidate is broken; nothing if it is not.
static std::optional<std::string> breaksChain(StringRef original, StringRef candidate,
                                              ArrayRef<JudgedStep> steps) {
  StringRef at = original;
  for (const JudgedStep &step : steps) {
    if (step.before != at)
      return formatv("pass {0} was applied to another text than the one before it left", step.pass);
    if (std::optional<std::string> problem = leavesAnchors(step))
      return problem;
    at = step.after;
  }
  if (at != candidate)
    return std::string(steps.empty() ? "the candidate differs from the original without a rewrite"
                                     : "the candidate is not what its last rewrite left");
  return std::nullopt;
}

Expected<RunIdentity> Judge::Impl::identify() {
  RunIdentity identity;
  Expected<std::string> folder = plan(baselineProgram, recordedCase());
  if (!folder)
    return folder.takeError();
  DigestBuilder input;
  for (const char *name : {kbrt::planFileName, kbrt::dataFileName}) {
    std::string path = *folder + "/" + name;
    if (!realFileSystem().exists(path))
      continue; // a plan without uploads has no data
    Expected<Digest> digest = files.get(path);
    if (!digest)
      return digest.takeError();
    input.add(*digest);
  }
  identity.input = input.finish();
  Expected<const DeviceImage *> built = image(baselineProgram, RunMode::Plain);
  if (!built)
    return built.takeError();
  Expected<DeviceIdentity> executed = deviceFor(RunMode::Plain, Where::Usual).identify(**built);
  if (!executed)
    return executed.takeError();
  identity.harness = executed->harness;
  identity.image = executed->image;
  return identity;
}

Expected<GateRecord> runProvenance(GateContext &context, ArrayRef<JudgedStep> steps) {
  Judge::Impl &judge = context.judge;
  const ProgramArtefacts &original = judge.original, &candidate = *context.candidate.program;
  auto fail = [](std::string reason) {
    return GateRecord::fail(GateId::G0, FailureClass::Constraints, std::move(reason));
  };
  if (candidate.flags != original.flags || candidate.arch != original.arch ||
      candidate.workingDirectory != original.workingDirectory)
    return fail("candidate and original are compiled with different flags");
  if (std::optional<std::string> problem = breaksChain(original.text, candidate.text, steps))
    return fail(std::move(*problem));
  GateRecord record = GateRecord::pass(GateId::G0);
  record.details = {"original " + digestOf(original.text), "candidate " + digestOf(candidate.text)};
  if (!context.isRun)
    return record;
  Expected<RunIdentity> now = judge.identify();
  if (!now)
    return now.takeError();
  const RunIdentity &then = judge.baseline->identity;
  for (auto [before, after, what] :
       {std::tuple(&then.input, &now->input, "recorded input"),
        std::tuple(&then.harness, &now->harness, "program that executes plans"),
        std::tuple(&then.image, &now->image, "original's device image")})
    if (*before != *after)
      return GateRecord::undecided(GateId::G0,
                                   formatv("the {0} has changed since the original ran", what),
                                   {formatv("was {0}, is {1}", *before, *after)});
  record.details.insert(record.details.end(), {"input " + now->input, "harness " + now->harness,
                                               "baseline image " + now->image});
  return record;
}

} // namespace kbopt
