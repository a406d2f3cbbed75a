//===- NodeJudgements.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeJudgements.h"
#include "kb-opt/Candidate/Attainable.h"
#include "kb-opt/Candidate/MeasuredSpeed.h"
#include "kb-opt/Eval/CostModel.h"
#include "kb-opt/Knowledge/State.h"
#include "kb-opt/Plan/RecordedPlan.h"
#include <future>

using namespace kbopt;

NodeJudgements::NodeJudgements(const CandidateSetup &setup, JournaledAnswers &answers,
                               NodeTable &nodes, NodeSpeeds &speeds)
    : setup(setup), answers(answers), nodes(nodes), speeds(speeds), originalGates(answers) {
  setup.judge.keepOriginalIn(&originalGates);
}

//===-- The judge is asked ------------------------------------------------===//

/// Why no candidate of an original that \p baseline tells of could be called correct.
static std::string nothingCounts(const BaselineReport &baseline) {
  const std::string why = "no test case tells a right result from a wrong one";
  return baseline.notAdmitted.empty() ? why : why + " (case " + baseline.notAdmitted.front() + ")";
}

llvm::Expected<Verdict> NodeJudgements::judgeOriginal(const ProgramArtefacts &program) {
  Judge &judge = setup.judge;
  // The CPU device counts as long as it checks, and can do both at once.
  std::future<void> counting;
  if (setup.gpu)
    counting = std::async(std::launch::async, [&] {
      if (auto counted = judge.count(program, countOptions(setup.chip)); !counted)
        llvm::consumeError(counted.takeError()); // reported at the next request
    });
  auto baseline = judge.baseline();
  if (!baseline)
    return baseline.takeError();
  Verdict verdict;
  verdict.kind = VerdictKind::Correct;
  if (baseline->problem)
    verdict.add(*baseline->problem);
  else if (baseline->admitted.empty())
    verdict.add(GateRecord::undecided(GateId::G5, nothingCounts(*baseline), baseline->notAdmitted));
  else if (setup.gpu) {
    auto timing = judge.originalTiming();
    if (!timing)
      return timing.takeError();
    if (timing->status == RunStatus::Ok)
      verdict.timing = *timing;
    else
      verdict.add(
          GateRecord::undecided(GateId::G12, "the original cannot be timed: " + timing->message));
  }
  return verdict;
}

llvm::Expected<Verdict> NodeJudgements::judgeCandidate(const NodeId &id,
                                                       const ProgramArtefacts &program,
                                                       JudgeEffort effort) {
  const bool isFinal = effort == JudgeEffort::Final;
  if (isFinal) { // while the original's own gates may still run
    ProgramArtefacts exact = program;
    exact.exactly = true;
    setup.judge.prepare(exact);
  }
  // Only the final check's answers are whole.
  JournaledGates gates(answers, id);
  auto verdict = setup.judge.judge(program, nodes.stepsTo(id), nodes.program(id).promise, effort,
                                   isFinal ? &gates : nullptr);
  if (!verdict)
    return verdict;
  for (const GateRecord &gate : verdict->gates)
    if (gate.outcome != GateOutcome::NotRun)
      setup.tools.timings.add(isFinal ? "gates of the final check" : "gates of the search",
                              (toString(gate.gate) + " " + gateTitle(gate.gate)).str(),
                              gate.seconds);
  return verdict;
}

llvm::Expected<JudgementRecord> NodeJudgements::compute(const NodeId &id, JudgeEffort effort) {
  const bool isOriginal = id == nodes.root();
  TimedPart timed(&setup.tools.timings, "effects",
                  isOriginal                     ? "judge the original"
                  : effort == JudgeEffort::Final ? "confirm"
                                                 : "judge");
  auto program = nodes.artefacts(id);
  if (!program)
    return program.takeError();
  auto verdict = isOriginal ? judgeOriginal(*program) : judgeCandidate(id, *program, effort);
  if (!verdict)
    return verdict.takeError();
  JudgementRecord record{std::move(*verdict)};
  if (!record.verdict.isCorrect())
    return record;
  std::optional<NodeSpeeds::MeasuredTime> measured;
  if (record.verdict.timing) {
    auto us = acceptedUs(id, *record.verdict.timing);
    if (!us)
      return us.takeError();
    measured.emplace(NodeSpeeds::MeasuredTime{*record.verdict.timing, *us});
  }
  auto speed = speeds.speed(id, *program, measured);
  if (!speed)
    return speed.takeError();
  record.speed = std::move(*speed);
  return record;
}

llvm::Expected<double> NodeJudgements::acceptedUs(const NodeId &id, const TimingReport &timing) {
  if (id == nodes.root())
    return timing.cold.baseline.medianUs;
  auto root = judge(nodes.root(), JudgeEffort::Search);
  if (!root)
    return root.takeError();
  return kbopt::acceptedUs(timing.cold, root->timeUs);
}

//===-- What the search is told -------------------------------------------===//

static void addVerdict(const Verdict &verdict, const CompileCommand &command,
                       NodeJudgement &judgement) {
  judgement.verdict = verdict.kind;
  judgement.gate = verdict.gate;
  judgement.failure = verdict.failure;
  judgement.reason = withShownName(verdict.reason, command);
  judgement.details.clear();
  for (const std::string &each : verdict.details)
    judgement.details.push_back(withShownName(each, command));
}

/// What launches take is the chip's figure, as far as the kernels leave time for it.
static TimeSplit splitOf(const JudgedSpeed &speed, const ChipInfo &chip) {
  TimeSplit split;
  if (!speed.launches)
    return split;
  const double rest = std::max(0.0, speed.us - speed.kernelsUs);
  split.launches = speed.launches;
  split.kernelsUs = speed.kernelsUs;
  split.launchesUs = std::min(rest, static_cast<double>(speed.launches) * chip.launchOverheadUs);
  split.hostUs = rest - split.launchesUs;
  return split;
}

static void addSpeed(const JudgedSpeed &speed, const ChipInfo &chip, NodeJudgement &judgement) {
  const StateRules &rules = StateRules::builtin();
  judgement.metrics = speed.metrics;
  judgement.state = rules.classify(speed.metrics);
  judgement.timeUs = speed.us;
  judgement.modelledUs = speed.modelledUs;
  judgement.split = splitOf(speed, chip);
  judgement.floorUs = speed.floorUs;
  judgement.shape = speed.shape;
  for (const auto &[name, kernel] : speed.kernels)
    judgement.kernels[name] = {kernel.us, rules.classify(kernel.metrics), kernel.shape,
                               kernel.metrics};
}

llvm::Expected<AttainableTime> NodeJudgements::attainable(double floorUs) {
  auto folder = setup.cases.original(setup.cases.recorded());
  auto plan = folder ? readRecordedPlan(*folder) : llvm::Expected<RecordedPlan>(folder.takeError());
  if (!plan)
    return plan.takeError();
  return attainableTime(plan->plan, floorUs, setup.chip);
}

llvm::Expected<JudgementRecord> NodeJudgements::ask(const NodeId &id, JudgeEffort effort) {
  if (effort == JudgeEffort::Search)
    return answers.ask<JudgementRecord>(searched, answers.request({id}),
                                        [&] { return compute(id, effort); });
  // A final check that had less time may have left out what another one runs.
  const double budget = setup.tools.budgetSeconds;
  return answers.ask<JudgementRecord>(
      confirmed, budget > 0 ? answers.request({id, std::to_string(budget)}) : answers.request({id}),
      [&] { return compute(id, effort); });
}

llvm::Expected<NodeJudgement> NodeJudgements::judge(const NodeId &id, JudgeEffort effort) {
  auto record = ask(id, effort);
  if (!record)
    return record.takeError();
  const Verdict &verdict = record->verdict;
  NodeJudgement judgement;
  addVerdict(verdict, setup.tools.input.command, judgement);
  if (record->speed) {
    addSpeed(*record->speed, setup.chip, judgement);
    judgement.code = nodes.codeWithHost(record->speed->code, id);
    if (id == nodes.root()) {
      auto time = attainable(judgement.floorUs);
      if (!time)
        return time.takeError();
      judgement.attainable = *time;
    }
  }
  if (effort == JudgeEffort::Search)
    return judgement;
  std::lock_guard<std::mutex> lock(mutex);
  confirmations[id] = {verdict.gates, verdict.timing};
  if (verdict.isCorrect() && verdict.timing &&
      verdict.timing->cold.decision != TimingDecision::Faster) {
    judgement.verdict = VerdictKind::Inconclusive;
    judgement.reason =
        "measured longer it is not faster than the original: " + verdict.timing->cold.reason;
  }
  return judgement;
}

llvm::Expected<Verdict> NodeJudgements::computeExamination(const NodeId &id, bool whole) {
  TimedPart timed(&setup.tools.timings, "effects", "examine");
  auto program = nodes.artefacts(id);
  if (!program)
    return program.takeError();
  return setup.judge.examine(*program, nodes.program(id).promise, whole);
}

llvm::Expected<NodeJudgement> NodeJudgements::examine(const NodeId &id, const NodeJudgement &judged,
                                                      bool whole) {
  auto verdict = answers.ask<Verdict>(
      "examine", whole ? answers.request({id, "whole"}) : answers.request({id}),
      [&] { return computeExamination(id, whole); });
  if (!verdict)
    return verdict.takeError();
  NodeJudgement judgement = judged;
  if (verdict->kind == VerdictKind::Incorrect)
    addVerdict(*verdict, setup.tools.input.command, judgement);
  return judgement;
}

std::vector<GateRecord> NodeJudgements::gates(const NodeId &id) {
  std::lock_guard<std::mutex> lock(mutex);
  return confirmations[id].gates;
}

std::optional<TimingReport> NodeJudgements::timing(const NodeId &id) {
  std::lock_guard<std::mutex> lock(mutex);
  return confirmations[id].timing;
}
