//===- NodeJudgement.cpp - What the judge says of a program -----------------===//
//
// Owns the half of ProgramEnvironment that judges nodes and reads verdicts back
// from the journal.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/Knowledge/State.h"
#include "kb-opt/Source/DeviceText.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Interrupt.h"
#include <future>

using namespace kbopt;
namespace json = llvm::json;

ProgramArtefacts ProgramEnvironment::sourceOf(const NodeId &id) {
  ProgramArtefacts program = original;
  if (id == rootNode)
    return program;
  program.text = node(id).text;
  program.bitcodePath = "";
  program.slice = [this, id]() -> std::optional<DeviceSlice> {
    Node &of = node(id);
    std::lock_guard<std::mutex> lock(of.mutex);
    auto open = session(of);
    if (open)
      return deviceSlice(open->parsed());
    llvm::consumeError(open.takeError());
    return std::nullopt;
  };
  return program;
}

llvm::Expected<ProgramArtefacts> ProgramEnvironment::artefacts(const NodeId &id) {
  ProgramArtefacts program = sourceOf(id);
  auto bitcode = bitcodeFile(program.text);
  if (!bitcode)
    return bitcode.takeError();
  program.bitcodePath = std::move(*bitcode);
  return program;
}

namespace {

/// Gates of one candidate, in the journal.
class JournaledGates : public GateStore {
public:
  JournaledGates(Journal &journal, std::function<Digest(llvm::StringRef)> request)
      : journal(journal), request(std::move(request)) {}
  std::optional<std::string> find(llvm::StringRef name) override {
    auto found = journal.find("gate", request(name));
    if (found)
      return *found;
    llvm::consumeError(found.takeError()); // then it is asked again
    return std::nullopt;
  }
  void keep(llvm::StringRef name, llvm::StringRef text) override {
    // What ended because the run is being ended is no answer.
    if (!interrupted())
      llvm::consumeError(journal.put("gate", request(name), text));
  }

private:
  Journal &journal;
  std::function<Digest(llvm::StringRef)> request;
};

} // namespace

std::optional<std::string> ProgramEnvironment::find(llvm::StringRef name) {
  return JournaledGates(journal, [&](llvm::StringRef of) { return request({of}); }).find(name);
}

void ProgramEnvironment::keep(llvm::StringRef name, llvm::StringRef text) {
  JournaledGates(journal, [&](llvm::StringRef of) { return request({of}); }).keep(name, text);
}

llvm::Expected<ProgramEnvironment::CompiledNode> ProgramEnvironment::compiled(const NodeId &id) {
  auto program = artefacts(id);
  if (!program)
    return program.takeError();
  auto code = judgeOf.code(*program);
  if (!code)
    return code.takeError();
  return CompiledNode{std::move(*program), *code};
}

/// Why no candidate of an original that \p baseline tells of could be called correct.
static std::string nothingCounts(const BaselineReport &baseline) {
  const std::string why = "no test case tells a right result from a wrong one";
  return baseline.notAdmitted.empty() ? why : why + " (case " + baseline.notAdmitted.front() + ")";
}

llvm::Expected<json::Value> ProgramEnvironment::computeJudgement(const NodeId &id,
                                                                 JudgeEffort effort) {
  TimedPart timed(&tools.timings, "effects",
                  id == rootNode                 ? "judge the original"
                  : effort == JudgeEffort::Final ? "confirm"
                                                 : "judge");
  auto program = artefacts(id);
  if (!program)
    return program.takeError();
  Verdict verdict;
  if (id == rootNode) {
    // The CPU device counts as long as it checks, and can do both at once.
    std::future<void> counting;
    if (gpu)
      counting = std::async(std::launch::async, [this, &program] {
        if (auto counted = judgeOf.count(*program, countOptions(chip)); !counted)
          llvm::consumeError(counted.takeError()); // who asks for it next is told
      });
    auto baseline = judgeOf.baseline();
    if (!baseline)
      return baseline.takeError();
    verdict.kind = VerdictKind::Correct;
    if (baseline->problem)
      verdict.add(*baseline->problem);
    else if (baseline->admitted.empty())
      verdict.add(
          GateRecord::undecided(GateId::G5, nothingCounts(*baseline), baseline->notAdmitted));
    else if (gpu) {
      auto timing = judgeOf.originalTiming();
      if (!timing)
        return timing.takeError();
      if (timing->status == RunStatus::Ok)
        verdict.timing = *timing;
      else
        verdict.add(
            GateRecord::undecided(GateId::G12, "the original cannot be timed: " + timing->message));
    }
  } else {
    if (effort == JudgeEffort::Final) { // while the original's own gates may still run
      ProgramArtefacts exact = *program;
      exact.exactly = true;
      judgeOf.prepare(exact);
    }
    // Only the final check's answers are whole.
    JournaledGates gates(journal, [&](llvm::StringRef name) { return request({id, name}); });
    auto judged = judgeOf.judge(*program, stepsTo(id), node(id).promise, effort,
                                effort == JudgeEffort::Final ? &gates : nullptr);
    if (!judged)
      return judged.takeError();
    verdict = std::move(*judged);
    for (const GateRecord &gate : verdict.gates)
      if (gate.outcome != GateOutcome::NotRun)
        tools.timings.add(effort == JudgeEffort::Final ? "gates of the final check"
                                                       : "gates of the search",
                          (toString(gate.gate) + " " + gateTitle(gate.gate)).str(), gate.seconds);
  }
  json::Object answer{{"verdict", toJSON(verdict)}};
  if (verdict.isCorrect())
    if (llvm::Error error =
            addSpeed(id, *program, verdict.timing ? &*verdict.timing : nullptr, answer))
      return std::move(error);
  return json::Value(std::move(answer));
}

static MetricMap metricsFrom(const json::Object &metrics) {
  MetricMap map;
  for (const auto &[name, value] : metrics)
    map[name.str()] = value.getAsNumber().value_or(std::numeric_limits<double>::quiet_NaN());
  return map;
}

llvm::Expected<NodeJudgement> ProgramEnvironment::judgeWith(const NodeId &id, JudgeEffort effort) {
  const char *kind = effort == JudgeEffort::Final ? "confirm" : "judge";
  // A final check that had less time may have left out what another one runs.
  const double budget = effort == JudgeEffort::Final ? tools.budgetSeconds : 0;
  auto answer = answered(kind, budget > 0 ? request({id, std::to_string(budget)}) : request({id}),
                         [&] { return computeJudgement(id, effort); });
  if (!answer)
    return answer.takeError();
  const json::Object &object = *answer->getAsObject();
  Verdict verdict;
  json::Path::Root path;
  if (!fromJSON(*object.get("verdict"), verdict, path))
    return path.getError();
  if (effort == JudgeEffort::Final) {
    Node &of = node(id);
    std::lock_guard<std::mutex> lock(of.mutex);
    of.gates = verdict.gates;
    of.timing = verdict.timing;
  }
  NodeJudgement judgement;
  judgement.verdict = verdict.kind;
  judgement.gate = verdict.gate;
  judgement.failure = verdict.failure;
  judgement.reason = verdict.reason;
  if (const json::Object *metrics = object.getObject("metrics")) {
    judgement.metrics = metricsFrom(*metrics);
    judgement.state = StateRules::builtin().classify(judgement.metrics);
    judgement.timeUs = object.getNumber("us").value_or(0);
    judgement.modelledUs = object.getNumber("modelledUs").value_or(0);
    judgement.floorUs = object.getNumber("floorUs").value_or(0);
    judgement.code = codeWithHost(object.getString("code").value_or(""), id);
    judgement.shape = object.getString("shape").value_or("").str();
  }
  if (effort == JudgeEffort::Final && verdict.isCorrect() && verdict.timing &&
      verdict.timing->cold.decision != TimingDecision::Faster) {
    judgement.verdict = VerdictKind::Inconclusive;
    judgement.reason =
        "measured longer it is not faster than the original: " + verdict.timing->cold.reason;
  }
  if (const json::Object *kernels = object.getObject("kernels"))
    for (const auto &[name, value] : *kernels) {
      const json::Object &entry = *value.getAsObject();
      MetricMap metrics = metricsFrom(*entry.getObject("metrics"));
      State state = StateRules::builtin().classify(metrics);
      judgement.kernels[name.str()] = {entry.getNumber("us").value_or(0), std::move(state),
                                       entry.getString("shape").value_or("").str(),
                                       std::move(metrics)};
    }
  return judgement;
}

llvm::Expected<NodeJudgement> ProgramEnvironment::judge(const NodeId &node) {
  return judgeWith(node, JudgeEffort::Search);
}

llvm::Expected<json::Value> ProgramEnvironment::computeExamination(const NodeId &id) {
  TimedPart timed(&tools.timings, "effects", "examine");
  auto program = artefacts(id);
  if (!program)
    return program.takeError();
  auto verdict = judgeOf.examine(*program, node(id).promise);
  if (!verdict)
    return verdict.takeError();
  return toJSON(*verdict);
}

llvm::Expected<NodeJudgement> ProgramEnvironment::examine(const NodeId &id,
                                                          const NodeJudgement &judged) {
  auto answer = answered("examine", request({id}), [&] { return computeExamination(id); });
  if (!answer)
    return answer.takeError();
  Verdict verdict;
  json::Path::Root path;
  if (!fromJSON(*answer, verdict, path))
    return path.getError();
  NodeJudgement judgement = judged;
  if (verdict.kind == VerdictKind::Incorrect) {
    judgement.verdict = verdict.kind;
    judgement.gate = verdict.gate;
    judgement.failure = verdict.failure;
    judgement.reason = verdict.reason;
  }
  return judgement;
}

llvm::Expected<NodeJudgement> ProgramEnvironment::confirm(const NodeId &node) {
  auto judgement = judgeWith(node, JudgeEffort::Final);
  if (!judgement)
    return judgement.takeError();
  return verified(node, std::move(*judgement));
}

std::optional<TimingReport> ProgramEnvironment::timing(const NodeId &id) {
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  return of.timing;
}

std::vector<GateRecord> ProgramEnvironment::gates(const NodeId &id) {
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  return of.gates;
}
