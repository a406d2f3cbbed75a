//===- NodeRewrites.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeRewrites.h"
#include "kb-opt/Candidate/HostText.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;

static std::vector<JudgedEdit> judgedEdits(const Edits &edits) {
  std::vector<JudgedEdit> judged;
  for (const Edit &edit : edits)
    judged.push_back({edit.offset, edit.length,
                      edit.anchor.nodeKind + " at line " + std::to_string(edit.anchor.line),
                      edit.anchor.begin, edit.anchor.end});
  return judged;
}

static RewriteRecord refused(const StepResult &result) {
  RewriteRecord record =
      RewriteRecord::none(result.remarks.empty() ? "no site" : result.remarks.front().message);
  if (result.refusal)
    record.refusedBy = result.refusal->rule;
  return record;
}

/// What the program promises that \p step made of \p id, as \p record tells.
CandidatePromise NodeRewrites::promiseBehind(const NodeId &id, const Step &step,
                                             const RewriteRecord &record) const {
  const CandidatePromise &before = nodes.program(id).promise;
  CandidatePromise promise = weaken(before, record);
  const bool isFirst = nodes.stepsTo(id).empty();
  promise.guardsItsWays = step.reply.empty() && (isFirst || before.guardsItsWays);
  return promise;
}

llvm::Expected<RewriteRecord> NodeRewrites::compute(const NodeId &id, const Step &step) {
  TimedPart timed(&setup.tools.timings, "effects", "rewrite");
  StepResult result;
  std::unique_ptr<RewriteSession> derived;
  std::string unknown;
  if (llvm::Error error = nodes.withSession(id, [&](RewriteSession &program) -> llvm::Error {
        auto rewritten = program.derive(step, result);
        if (!rewritten)
          return rewritten.takeError();
        derived = std::move(*rewritten);
        return llvm::Error::success();
      })) {
    if (!step.reply.empty())
      return std::move(error);
    // A step that was found behind others may name a kernel or a site that only they made.
    if (llvm::Error other = llvm::handleErrors(
            std::move(error), [&](const UsageError &usage) { unknown = usage.message; }))
      return std::move(other);
    return RewriteRecord::none(unknown);
  }
  if (!derived)
    return refused(result);
  RewriteRecord record;
  record.text = derived->text().str();
  record.host = digestOf(hostText(derived->parsed()));
  record.edits = judgedEdits(result.edits);
  record.promise = result.promise;
  record.assumes = result.assumes;
  record.run = result.run;
  // The judge need not parse the new program again.
  nodes.keepSession(
      nodes.add({*record.text, record.host, promiseBehind(id, step, record), record.run}),
      std::move(derived));
  return record;
}

std::string NodeRewrites::replySummary(const Step &step) const {
  if (step.reply.empty())
    return "";
  auto reply = replies.get(step.reply);
  if (reply)
    return reply->summary;
  llvm::consumeError(reply.takeError());
  return "a model's reply that is not here any more";
}

/// The outcome of a step whose reply breaks a rule, or that applies nowhere.
static StepOutcome noProgram(const RewriteRecord &record) {
  StepOutcome outcome;
  outcome.reason = record.reason;
  if (!record.refusedBy)
    return outcome;
  if (*record.refusedBy == EditRule::Parse) {
    outcome.applied = true;
    outcome.gate = GateId::G1;
    outcome.failure = FailureClass::Compile;
  } else {
    outcome.failure =
        *record.refusedBy == EditRule::Library ? FailureClass::Library : FailureClass::Constraints;
  }
  return outcome;
}

NodeId NodeRewrites::add(const NodeId &id, const Step &step, const RewriteRecord &record) {
  const NodeProgram &before = nodes.program(id);
  NodeId made = nodes.add({*record.text, record.host, promiseBehind(id, step, record), record.run});
  std::vector<JudgedStep> steps = nodes.stepsTo(id);
  // The steps of one run are one edit of the text before the first of them.
  std::string base = record.run ? record.run->base : before.text;
  while (!steps.empty() && steps.back().after != base)
    steps.pop_back();
  steps.push_back({step.pass, std::move(base), *record.text, record.edits, replySummary(step)});
  nodes.keepSteps(made, std::move(steps));
  return made;
}

llvm::Expected<StepOutcome> NodeRewrites::rewrite(const NodeId &id, const Step &step) {
  auto record = answers.ask<RewriteRecord>("rewrite", answers.request({id, step.text()}),
                                           [&] { return compute(id, step); });
  if (!record)
    return record.takeError();
  if (!record->text)
    return noProgram(*record);
  if (record->promise > setup.tools.weakest)
    return noProgram(RewriteRecord::none(("it promises '" + promiseName(record->promise) +
                                          "', and --promise=" + promiseName(setup.tools.weakest) +
                                          " asks for more")
                                             .str()));
  StepOutcome outcome;
  outcome.applied = true;
  outcome.node = add(id, step, *record);
  setup.cases.setHostDigest(*record->text, record->host);
  return outcome;
}
