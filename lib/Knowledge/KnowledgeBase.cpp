//===- KnowledgeBase.cpp - Seed and evidence together ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "kb-opt/Target/Builtin.h"
#include "kbrt/Database.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace kbopt;

namespace {

// The seed counts as much as this many tries of this chip.
constexpr double seedTries = 3;
// Spread of gains that nothing is known of yet.
constexpr double seedDeviation = 0.3;
// Of a bottleneck behind the primary, and of a later step that a pass opens.
constexpr double secondaryShare = 0.5, openedShare = 0.5;
// Any pass that applies, and one of the shape's seed pipeline.
constexpr double leastGain = 0.01, shapeGain = 0.03;
// Share of the time blamed where the counters cannot say.
constexpr double unknownBlame = 0.3;
constexpr double strangerTrust = 0.2, otherDeviceTrust = 0.5;
// Share of a proposed gain that is believed before it was tried.
constexpr double proposalShare = 0.5;
constexpr double refinedKinship = 0.5, siblingKinship = 0.25;
// Evidence of the state that is the second bottleneck here, and of a kernel of another shape.
constexpr double secondaryKinship = 0.25, otherShapeKinship = 0.5;

/// \p proposed: only words speak for the pass, so a model writes it.
double seedSuccess(const Optimization *optimization, bool proposed) {
  if (optimization ? optimization->form == "model" : proposed)
    return 0.4;
  return !optimization || optimization->form == "pattern" ? 0.7 : 0.9;
}

std::string percent(double logGain) { return llvm::formatv("{0:f1} %", 100 * std::expm1(logGain)); }

/// How far what was seen as \p seen counts for a kernel of \p shape in \p state.
double kinshipOf(const PassKey &seen, const State &state, llvm::StringRef shape) {
  const bool isSameShape = seen.shape.empty() || shape.empty() || seen.shape == shape;
  return stateKinship(seen.state, state) * (isSameShape ? 1 : otherShapeKinship);
}

} // namespace

KnowledgeBase::KnowledgeBase(ChipInfo chip, std::string device, const Catalogue &catalogue)
    : target(std::move(chip)), deviceKind(std::move(device)), seed(&catalogue),
      knowledge(foldEvidence(records)) {
  similarity[target.name] = 1;
}

KnowledgeBase KnowledgeBase::withoutEvidence() const {
  return KnowledgeBase(target, deviceKind, *seed);
}

void KnowledgeBase::learn(const EvidenceSet &more) {
  records.merge(more);
  knowledge = foldEvidence(records);
  ranking = ScheduleRanking(records, experimentsOf(records));
  for (const auto &entry : knowledge.passes) {
    const std::string &name = entry.first.chip;
    if (similarity.count(name))
      continue;
    llvm::Expected<ChipInfo> other = loadChip(name);
    similarity[name] = other ? chipSimilarity(*other, target) : strangerTrust;
    if (!other)
      llvm::consumeError(other.takeError());
  }
}

double KnowledgeBase::trust(const std::string &chipName, llvm::StringRef device) const {
  auto found = similarity.find(chipName);
  double chipTrust = found == similarity.end() ? strangerTrust : found->second;
  return device == deviceKind ? chipTrust : otherDeviceTrust * chipTrust;
}

State KnowledgeBase::classify(const MetricMap &metrics) const {
  const StateRules &rules = StateRules::builtin();
  State state = rules.classify(metrics);
  if (knowledge.words.states.empty())
    return state;
  MetricMap figures = rules.figures(metrics);
  for (const DiscoveredState &discovered : knowledge.words.states)
    if (discovered.parent == state.primary && !discovered.condition.empty() &&
        discovered.condition.evaluate(figures).value_or(0) != 0) {
      state.refinement = discovered.name;
      break;
    }
  return state;
}

std::pair<double, llvm::StringRef> KnowledgeBase::prior(const State &state, llvm::StringRef pass,
                                                        llvm::StringRef shape) const {
  double best = leastGain;
  bool answered = false;
  const Optimization *optimization = seed->find(pass);
  if (optimization)
    for (auto [index, share] : llvm::enumerate(state.shares)) {
      const StateAnswer *answer = optimization->answerTo(share.name);
      if (!answer)
        continue;
      answered = true;
      double gain = predictedLogGain(state, share, answer->removes);
      if (std::isnan(gain))
        gain = -std::log1p(-unknownBlame * answer->removes);
      best = std::max(best, index == 0 ? gain : secondaryShare * gain);
    }
  bool proposed = false;
  if (!answered)
    for (const auto &[key, entry] : knowledge.words.proposals)
      if (entry.pass == pass && coversState(entry.state, state.fullName())) {
        proposed = true;
        best = std::max(best, proposalShare * entry.predictedGain);
      }
  if (optimization && llvm::is_contained(seed->pipeline(shape), optimization->name))
    best += shapeGain;
  return {best, answered ? "seed" : proposed ? "proposal" : "nothing"};
}

/// How much better \p after does right behind \p before than it does on average.
double KnowledgeBase::learntEdge(llvm::StringRef before, llvm::StringRef after) const {
  double all = 0, allCount = 0, edge = 0, edgeCount = 0;
  for (const auto &[key, statistics] : knowledge.passes)
    if (key.pass == after) {
      double weight = trust(key.chip, key.device) * statistics.gain.weight;
      all += weight * statistics.gain.mean;
      allCount += weight;
    }
  for (const auto &[key, gain] : knowledge.edges)
    if (key.before == before && key.after == after) {
      double weight = trust(key.chip, key.device) * gain.weight;
      edge += weight * gain.mean;
      edgeCount += weight;
    }
  if (edgeCount == 0 || allCount == 0)
    return 0;
  return edgeCount / (edgeCount + seedTries) * (edge / edgeCount - all / allCount);
}

/// Worth of the best step that \p pass makes possible.
double KnowledgeBase::opens(const State &state, llvm::StringRef pass,
                            const std::vector<std::string> &predecessors) const {
  double best = 0;
  for (const SeedEdge &edge : seed->edges()) {
    if (edge.kind != EdgeKind::Enables || edge.before != pass ||
        llvm::is_contained(predecessors, edge.after))
      continue;
    const Optimization *next = seed->find(edge.after);
    if (next && llvm::any_of(state.shares,
                             [&](const StateShare &share) { return next->answerTo(share.name); }))
      best = std::max(best, openedShare * edge.bonus);
  }
  return best;
}

Prediction KnowledgeBase::predict(const State &state, llvm::StringRef pass,
                                  const std::vector<std::string> &predecessors,
                                  llvm::StringRef shape, PredictionParts *parts) const {
  Prediction result;
  PredictionParts unwanted;
  PredictionParts &made = parts ? *parts : unwanted;
  made = {};
  for (const std::string &earlier : predecessors)
    if (seed->excludes(earlier, pass)) {
      made.excludedBy = earlier;
      result.why = "'" + earlier + "' excludes it";
      return result;
    }

  auto [priorGain, priorFrom] = prior(state, pass, shape);
  made.prior = priorGain;
  made.priorFrom = priorFrom.str();
  double weight = seedTries, own = seedTries * priorGain, credit = own;
  double squares = seedTries * seedDeviation * seedDeviation;
  double tries = 0, correct = 0, gains = 0, gainCount = 0;
  for (const auto &[key, statistics] : knowledge.passes) {
    if (key.pass != pass)
      continue;
    const double kinship = kinshipOf(key, state, shape);
    if (kinship == 0)
      continue;
    double believed = kinship * trust(key.chip, key.device);
    double count = believed * statistics.gain.weight;
    weight += count;
    own += count * statistics.gain.mean;
    credit += count * statistics.credit.mean;
    squares += count * statistics.gain.variance;
    gains += count * statistics.gain.mean;
    gainCount += count;
    tries += believed * static_cast<double>(statistics.tries);
    correct += believed * static_cast<double>(statistics.correct);
    if (parts)
      made.rows.push_back({key, statistics, believed});
  }
  result.logGain = own / weight;
  result.observations = tries;
  double seedChance = seedSuccess(seed->find(pass), made.priorFrom == "proposal");
  result.success = (seedTries * seedChance + correct) / (seedTries + tries);
  result.uncertainty = std::sqrt(squares / weight / weight);
  result.unproven = made.priorFrom == "proposal" && tries == 0;
  result.why = made.priorFrom == "proposal" ? "proposed " + percent(priorGain)
                                            : "seed " + percent(priorGain);
  if (result.unproven)
    result.why += ", unproven";
  if (tries > 0)
    result.why += llvm::formatv("; {0:f1} tries, {1:f1} correct", tries, correct).str();
  if (gainCount > 0)
    result.why += ", mean " + percent(gains / gainCount);

  double value = credit / weight;
  auto repeats = llvm::count(predecessors, pass.str());
  if (repeats) {
    // What came after the last time may call for another.
    llvm::ArrayRef<std::string> later = predecessors;
    while (llvm::is_contained(later, pass))
      later = later.drop_front();
    if (seed->retunes(later, pass))
      repeats = 0;
  }
  if (repeats) {
    made.repeated = std::pow(seed->repeatDiscount(pass), static_cast<double>(repeats));
    value *= made.repeated;
    result.why += "; repeated";
  } else {
    made.opens = opens(state, pass, predecessors);
    value += made.opens;
    if (made.opens != 0)
      result.why += "; opens other passes";
    made.seedEdge = seed->bonus(predecessors, pass);
  }
  if (!predecessors.empty())
    made.learntEdge = learntEdge(predecessors.back(), pass);
  if (double edge = made.seedEdge + made.learntEdge; edge != 0) {
    value += edge;
    result.why += "; after '" + predecessors.back() + "' " + percent(edge);
  }
  result.value = result.success * std::max(0.0, value);
  return result;
}

bool KnowledgeBase::isPointless(llvm::StringRef pass, const MetricMap &metrics) const {
  const Optimization *optimization = seed->find(pass);
  if (!optimization || optimization->when.empty() || metrics.empty())
    return false;
  std::optional<double> gains = optimization->when.evaluate(StateRules::builtin().figures(metrics));
  return gains && *gains == 0;
}

std::vector<std::string> KnowledgeBase::knownParameters(const State &state, llvm::StringRef pass,
                                                        llvm::StringRef shape) const {
  std::map<std::string, std::pair<double, double>> sums; // weighted gain, weight
  for (const auto &[key, byText] : knowledge.parameters) {
    double kinship = key.pass == pass ? kinshipOf(key, state, shape) : 0;
    if (kinship == 0)
      continue;
    for (const auto &[text, gain] : byText) {
      double weight = kinship * trust(key.chip, key.device) * gain.weight;
      sums[text].first += weight * gain.mean;
      sums[text].second += weight;
    }
  }
  std::vector<std::pair<double, std::string>> ranked;
  for (const auto &[text, sum] : sums)
    if (!text.empty())
      ranked.push_back({-sum.first / (sum.second + 1), text});
  llvm::sort(ranked);
  std::vector<std::string> result;
  for (auto &entry : ranked)
    result.push_back(std::move(entry.second));
  return result;
}

std::vector<RetrievedEntry>
KnowledgeBase::retrieve(const State &state, llvm::StringRef shape, unsigned limit,
                        const std::vector<std::string> &predecessors) const {
  std::set<std::string> passes;
  for (const Optimization &entry : seed->optimizations())
    if (llvm::any_of(state.shares,
                     [&](const StateShare &share) { return entry.answerTo(share.name); }))
      passes.insert(entry.name);
  for (const auto &entry : knowledge.passes)
    if (stateKinship(entry.first.state, state) > 0)
      passes.insert(entry.first.pass);
  for (const auto &[key, proposed] : knowledge.words.proposals)
    if (coversState(proposed.state, state.fullName()))
      passes.insert(proposed.pass);
  std::vector<RetrievedEntry> result;
  for (const std::string &pass : passes)
    result.push_back({seed->find(pass), pass, predict(state, pass, predecessors, shape)});
  llvm::sort(result, [](const RetrievedEntry &a, const RetrievedEntry &b) {
    if (a.prediction.value != b.prediction.value)
      return a.prediction.value > b.prediction.value;
    return a.pass < b.pass;
  });
  if (result.size() > limit)
    result.resize(limit);
  return result;
}

ScheduleRanking::Trust KnowledgeBase::trustOfChips() const {
  return [this](const std::string &name, llvm::StringRef device) { return trust(name, device); };
}

std::vector<std::string>
KnowledgeBase::orderSchedules(const NestFacts &facts, llvm::ArrayRef<std::string> schedules) const {
  return ranking.order(facts, schedules, trustOfChips());
}

std::vector<RankingVoice> KnowledgeBase::scheduleVoices(const NestFacts &facts) const {
  return ranking.voices(facts, trustOfChips());
}

double kbopt::stateKinship(llvm::StringRef seen, llvm::StringRef here) {
  if (seen == here)
    return 1;
  if (seen.split('/').first != here.split('/').first)
    return 0;
  return seen.contains('/') && here.contains('/') ? siblingKinship : refinedKinship;
}

double kbopt::stateKinship(llvm::StringRef seen, const State &here) {
  double behind = here.secondary.empty() ? 0 : stateKinship(seen, here.secondary);
  return std::max(stateKinship(seen, here.fullName()), secondaryKinship * behind);
}

std::string kbopt::userKnowledgeDirectory() { return userDataDirectory() + "/knowledge"; }

std::string kbopt::knowledgeFolder(llvm::StringRef given) {
  return given.empty() || kbrt::isDatabaseUrl(given.str()) ? userKnowledgeDirectory() : given.str();
}

std::string kbopt::evidenceLog(llvm::StringRef directory) {
  return kbrt::isDatabaseUrl(directory.str()) ? directory.str()
                                              : (directory + "/evidence.jsonl").str();
}

EvidenceSet kbopt::builtinEvidence(llvm::StringRef device, std::vector<BadLine> &bad) {
  EvidenceSet all;
  for (const BuiltinFile &file : builtinKnowledge()) {
    if (!file.path.starts_with("evidence/"))
      continue;
    EvidenceSet set = parseEvidenceLog(file.bytes, file.path, bad);
    auto isOfDevice = [&](const Digest &id) {
      auto found = set.records().find(id);
      return found != set.records().end() && found->second.device == device;
    };
    for (const auto &[id, record] : set.records())
      if (isOfDevice(id))
        all.insert(record);
    for (const auto &[id, finding] : set.findings())
      if (llvm::any_of(finding.evidence, isOfDevice))
        all.insert(finding);
  }
  return all;
}

llvm::Expected<KnowledgeBase> kbopt::loadKnowledge(const ChipInfo &chip, llvm::StringRef device,
                                                   FileSystem &fileSystem,
                                                   llvm::ArrayRef<std::string> directories,
                                                   std::vector<BadLine> &bad) {
  KnowledgeBase knowledge(chip, device.str());
  EvidenceSet all = builtinEvidence(device, bad);
  for (const std::string &directory : directories) {
    llvm::Expected<EvidenceSet> set = readEvidence(fileSystem, evidenceLog(directory), bad);
    if (!set)
      return set.takeError();
    all.merge(*set);
  }
  knowledge.learn(all);
  return knowledge;
}
