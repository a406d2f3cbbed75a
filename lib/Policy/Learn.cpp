//===- Learn.cpp - Credit, the end of a batch, states without entries -----===//
// SPDX-License-Identifier: Apache-2.0
#include "Pending.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

/// The name of a record while the run goes on: its id changes with its credit.
static std::string sampleName(size_t index) { return "e" + std::to_string(index + 1); }

void Explorer::credit(const NodeId &parent, const Step &move, double later) {
  auto found = evidenceAt.find({parent, move});
  if (found == evidenceAt.end())
    return;
  Evidence &record = result.evidence[found->second];
  if (record.creditGain)
    record.creditGain = std::max(*record.creditGain, *record.achievedGain + later);
}

void Explorer::dispute(const Attempt &failed, const Proposal &said) {
  const size_t place = triedAt.at({failed.parent, failed.step});
  Attempt &attempt = result.attempts[place];
  attempt.dispute = said.dispute;
  attempt.tokens += said.tokens;
  if (attempt.cost && said.cost)
    *attempt.cost += *said.cost;
  if (observer)
    observer->disputed(attempt);
  auto found = llvm::find(attemptOf, place);
  if (found == attemptOf.end())
    return;
  // Records are named by their places, which move.
  const size_t removed = found - attemptOf.begin();
  attemptOf.erase(found);
  result.evidence.erase(result.evidence.begin() + removed);
  reflectedUpTo -= removed < reflectedUpTo;
  for (auto &[step, record] : evidenceAt)
    record -= record > removed;
  for (Finding &finding : findings) {
    llvm::erase(finding.evidence, sampleName(removed));
    for (std::string &name : finding.evidence)
      for (size_t record = removed + 1; record <= result.evidence.size(); ++record)
        if (name == sampleName(record)) {
          name = sampleName(record - 1);
          break;
        }
  }
  llvm::erase_if(findings, [](const Finding &finding) {
    return finding.kind == FindingKind::Lesson && finding.evidence.empty();
  });
}

llvm::Error Explorer::learn() {
  if (llvm::Error error = reflect())
    return error;
  recall();
  return llvm::Error::success();
}

void Explorer::recall() {
  if (options.memory)
    believe();
}

/// Folds what the search began with and all that it saw since.
void Explorer::believe() {
  EvidenceSet set;
  for (const Evidence &record : result.evidence)
    set.insert(record);
  for (Finding &finding : namedFindings())
    set.insert(std::move(finding));
  believed = initial;
  believed.learn(set);
}

/// The findings with the ids that the evidence has now.
std::vector<Finding> Explorer::namedFindings() const {
  std::map<std::string, Digest> ids;
  for (size_t i = 0; i != result.evidence.size(); ++i)
    ids[sampleName(i)] = result.evidence[i].id();
  std::vector<Finding> named = findings;
  for (Finding &finding : named)
    for (std::string &name : finding.evidence)
      name = ids.at(name);
  return named;
}

ReplayBuffer Explorer::replayBuffer() const {
  ReplayBuffer buffer;
  buffer.batch = batches;
  std::set<std::string> states, passes;
  for (const std::string &state : StateRules::builtin().names())
    states.insert(state);
  for (const DiscoveredState &state : believed.folded().words.states)
    states.insert(state.fullName());
  for (const auto &[key, ranges] : rangesOf)
    passes.insert(key.first);
  for (size_t i = reflectedUpTo; i != result.evidence.size(); ++i) {
    const Attempt &attempt = result.attempts[attemptOf[i]];
    ReplaySample sample{sampleName(i),
                        result.evidence[i],
                        nodes.at(attempt.parent).metricsOf(attempt.step.kernel),
                        {}};
    if (!attempt.node.empty())
      sample.after = nodes.at(attempt.node).metricsOf(attempt.step.kernel);
    states.insert(attempt.primary);
    buffer.samples.push_back(std::move(sample));
  }
  for (const Finding &finding : findings)
    if (finding.kind == FindingKind::Lesson)
      buffer.lessons.push_back(finding);
  buffer.states.assign(states.begin(), states.end());
  buffer.passes.assign(passes.begin(), passes.end());
  return buffer;
}

/// Keeps what roles found, and what it took.
void Explorer::take(Reflection reflection) {
  result.tokens += reflection.tokens;
  result.cost += reflection.cost.value_or(0);
  result.costKnown &= reflection.cost || reflection.tokens == 0;
  for (Finding &finding : reflection.findings) {
    finding.chip = initial.chip().name;
    finding.versions = options.versions;
    finding.time = clock.timestamp();
    findings.push_back(finding);
  }
  for (auto [index, record] : llvm::enumerate(result.evidence))
    if (auto cause = reflection.causes.find(sampleName(index)); cause != reflection.causes.end())
      record.cause = cause->second;
  if (observer)
    observer->reflected(reflection);
}

llvm::Error Explorer::reflect() {
  ++batches;
  if (!options.memory || reflectedUpTo == result.evidence.size() || stopped() || outOfTime())
    return llvm::Error::success();
  ReplayBuffer buffer = replayBuffer();
  reflectedUpTo = result.evidence.size();
  return keepUnlessStopped(environment.reflect(buffer),
                           [&](Reflection reflection) { take(std::move(reflection)); });
}

llvm::Error Explorer::suggestFor(const ExplorerNode &node) {
  if (!options.memory || !node.actions)
    return llvm::Error::success();
  std::map<std::string, std::set<std::string>> passesOf;
  for (const Action &action : *node.actions)
    passesOf[action.kernel].insert(action.pass);
  size_t before = findings.size();
  for (const auto &[kernel, passes] : passesOf) {
    const State &state = node.stateOf(kernel);
    if (!believed.retrieve(state, node.shapeOf(kernel), 1).empty() ||
        !suggestedStates.insert(state.fullName()).second || stopped())
      continue;
    SuggestionRequest request{node.id,
                              kernel,
                              state,
                              node.metricsOf(kernel),
                              node.shapeOf(kernel),
                              {passes.begin(), passes.end()}};
    if (llvm::Error error =
            keepUnlessStopped(environment.suggest(request),
                              [&](Reflection reflection) { take(std::move(reflection)); }))
      return error;
  }
  if (findings.size() != before)
    believe();
  return llvm::Error::success();
}
