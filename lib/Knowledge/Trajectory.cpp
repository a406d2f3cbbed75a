//===- Trajectory.cpp - Chains of attempts --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/Trajectory.h"
#include "RecordJson.h"
#include "kb-opt/Knowledge/Fold.h"
#include "llvm/ADT/STLExtras.h"
#include <tuple>

using namespace kbopt;
namespace json = llvm::json;

namespace {

/// What links an attempt to the one before it.
using Place = std::tuple<Digest, std::string, std::string, Digest, std::string>;

Place startOf(const Evidence &e) { return {e.program, e.chip, e.device, e.before, e.predecessor}; }

/// Where a step behind \p e starts; nothing where the program did not change.
std::optional<Place> endOf(const Evidence &e) {
  const bool isProgram = e.verdict == VerdictKind::Correct || e.verdict == VerdictKind::Screened;
  if (!isProgram || e.after.empty() || e.after == e.before)
    return std::nullopt;
  return Place{e.program, e.chip, e.device, e.after, e.pass};
}

json::Object actionOf(const Evidence &e) {
  json::Object action{{"pass", json::fixUTF8(e.pass)}};
  record::write(action, "parameters", e.parameters);
  record::write(action, "reply", e.reply);
  return action;
}

/// What both kinds of line say of the situation.
json::Object situationOf(llvm::StringRef type, const Digest &id, const Evidence &e) {
  json::Object line{
      {"version", 1}, {"type", type}, {"id", id}, {"state", json::fixUTF8(e.primary)}};
  record::write(line, "secondary", e.secondary);
  record::write(line, "features", e.features);
  record::write(line, "shape", e.shape);
  record::write(line, "predecessor", e.predecessor);
  record::write(line, "chip", e.chip);
  record::write(line, "device", e.device);
  line["action"] = actionOf(e);
  return line;
}

std::string pairLine(const Digest &id, const Evidence &e) {
  json::Object outcome{{"verdict", toString(e.verdict)}};
  record::write(outcome, "gain", e.achievedGain);
  record::write(outcome, "gate", toString(e.gate).str());
  record::write(outcome, "failure", toString(e.failure).str());
  record::write(outcome, "cause", e.cause);
  record::write(outcome, "reason", e.reason);
  json::Object line = situationOf("pair", id, e);
  line["outcome"] = std::move(outcome);
  record::write(line, "predictedGain", e.predictedGain);
  if (e.tokens)
    line["tokens"] = e.tokens;
  record::write(line, "cost", e.cost);
  return record::print(std::move(line)) + "\n";
}

/// The gain where it is correct, 0 where the program stayed as it was because the
/// attempt failed or changed nothing, null where it is unknown.
json::Value rewardOf(const Evidence &e, std::optional<double> gain) {
  if (e.verdict == VerdictKind::Correct || e.verdict == VerdictKind::Screened)
    return gain ? json::Value(*gain + 0.0) : json::Value(nullptr);
  return e.verdict == VerdictKind::Inconclusive ? json::Value(nullptr) : json::Value(0.0);
}

std::string stepLine(const Digest &id, const Evidence &e, const TrajectoryStep &step) {
  auto orNull = [](const std::string &text) {
    return text.empty() ? json::Value(nullptr) : json::Value(json::fixUTF8(text));
  };
  json::Object line = situationOf("step", id, e);
  record::write(line, "program", e.program);
  line["previous"] = orNull(step.previous);
  line["depth"] = step.depth ? json::Value(*step.depth) : json::Value(nullptr);
  line["verdict"] = toString(e.verdict);
  line["reward"] = rewardOf(e, e.achievedGain);
  line["credit"] = rewardOf(e, e.creditGain ? e.creditGain : e.achievedGain);
  line["next"] = orNull(step.next);
  line["terminal"] = step.next.empty();
  return record::print(std::move(line)) + "\n";
}

} // namespace

std::map<Digest, TrajectoryStep> kbopt::trajectories(const EvidenceSet &evidence) {
  std::map<Digest, TrajectoryStep> result;
  std::map<Place, std::vector<Digest>> starting; // not reached yet
  std::vector<Digest> level;
  for (const auto &[id, standsFor] : experimentsOf(evidence)) {
    if (id != standsFor)
      continue;
    const Evidence &e = evidence.records().at(id);
    TrajectoryStep &step = result[id];
    if (e.predecessor.empty()) {
      step.depth = 0;
      level.push_back(id);
    } else {
      starting[startOf(e)].push_back(id);
    }
  }
  auto follow = [&](const Digest &id, std::vector<Digest> *next) {
    std::optional<Place> end = endOf(evidence.records().at(id));
    auto found = end ? starting.find(*end) : starting.end();
    if (found == starting.end())
      return;
    TrajectoryStep &step = result.at(id);
    step.next = evidence.records().at(found->second.front()).primary;
    for (const Digest &child : found->second) {
      TrajectoryStep &later = result.at(child);
      if (!later.previous.empty() || child == id)
        continue;
      later.previous = id;
      later.depth = *step.depth + 1;
      next->push_back(child);
    }
  };
  // By depth, so that a chain has no cycle.
  while (!level.empty()) {
    std::vector<Digest> next;
    for (const Digest &id : level)
      follow(id, &next);
    llvm::sort(next);
    level = std::move(next);
  }
  return result;
}

std::string kbopt::exportTrajectories(const EvidenceSet &evidence, bool pairs, bool steps) {
  std::map<Digest, TrajectoryStep> all = trajectories(evidence);
  std::string text;
  if (pairs)
    for (const auto &[id, step] : all)
      text += pairLine(id, evidence.records().at(id));
  if (steps)
    for (const auto &[id, step] : all)
      text += stepLine(id, evidence.records().at(id), step);
  return text;
}
