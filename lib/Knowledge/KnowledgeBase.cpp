//===- KnowledgeBase.cpp - Seed and evidence together ---------------------===//
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "kb-opt/Target/Builtin.h"
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

double seedSuccess(const Optimization *optimization) {
  if (!optimization || optimization->form == "pattern")
    return 0.7;
  return optimization->form == "model" ? 0.4 : 0.9;
}

std::string percent(double logGain) { return llvm::formatv("{0:f1} %", 100 * std::expm1(logGain)); }

} // namespace

KnowledgeBase::KnowledgeBase(ChipInfo chip, std::string device, const Catalogue &catalogue)
    : target(std::move(chip)), deviceKind(std::move(device)), seed(&catalogue),
      knowledge(foldEvidence(records)) {
  similarity[target.name] = 1;
}

void KnowledgeBase::learn(const EvidenceSet &more) {
  records.merge(more);
  knowledge = foldEvidence(records);
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

double KnowledgeBase::seedGain(const State &state, llvm::StringRef pass,
                               llvm::StringRef shape) const {
  double best = leastGain;
  const Optimization *optimization = seed->find(pass);
  if (!optimization)
    return best;
  for (auto [index, share] : llvm::enumerate(state.shares)) {
    const StateAnswer *answer = optimization->answerTo(share.name);
    if (!answer)
      continue;
    double gain = predictedLogGain(state, share, answer->removes);
    if (std::isnan(gain))
      gain = -std::log1p(-unknownBlame * answer->removes);
    best = std::max(best, index == 0 ? gain : secondaryShare * gain);
  }
  if (llvm::is_contained(seed->pipeline(shape), optimization->name))
    best += shapeGain;
  return best;
}

/// How much better \p after does right behind \p before than it does on average.
double KnowledgeBase::learntEdge(llvm::StringRef before, llvm::StringRef after) const {
  double all = 0, allCount = 0, edge = 0, edgeCount = 0;
  for (const auto &[key, statistics] : knowledge.passes)
    if (key.pass == after) {
      double weight = trust(key.chip, key.device) * static_cast<double>(statistics.gain.count);
      all += weight * statistics.gain.mean;
      allCount += weight;
    }
  for (const auto &[key, gain] : knowledge.edges)
    if (key.before == before && key.after == after) {
      double weight = trust(key.chip, key.device) * static_cast<double>(gain.count);
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
    if (llvm::any_of(state.shares,
                     [&](const StateShare &share) { return next->answerTo(share.name); }))
      best = std::max(best, openedShare * edge.bonus);
  }
  return best;
}

Prediction KnowledgeBase::predict(const State &state, llvm::StringRef pass,
                                  const std::vector<std::string> &predecessors,
                                  llvm::StringRef shape) const {
  Prediction result;
  const Optimization *optimization = seed->find(pass);
  for (const std::string &earlier : predecessors)
    if (seed->excludes(earlier, pass)) {
      result.why = "'" + earlier + "' excludes it";
      return result;
    }

  double prior = seedGain(state, pass, shape);
  double weight = seedTries, own = seedTries * prior, credit = own;
  double squares = seedTries * seedDeviation * seedDeviation;
  double tries = 0, correct = 0, gains = 0, gainCount = 0;
  for (const auto &[key, statistics] : knowledge.passes) {
    if (key.state != state.primary || key.pass != pass)
      continue;
    double believed = trust(key.chip, key.device);
    double count = believed * static_cast<double>(statistics.gain.count);
    weight += count;
    own += count * statistics.gain.mean;
    credit += count * statistics.credit.mean;
    squares += count * statistics.gain.variance;
    gains += count * statistics.gain.mean;
    gainCount += count;
    tries += believed * static_cast<double>(statistics.tries);
    correct += believed * static_cast<double>(statistics.correct);
  }
  result.logGain = own / weight;
  result.observations = tries;
  result.success = (seedTries * seedSuccess(optimization) + correct) / (seedTries + tries);
  result.uncertainty = std::sqrt(squares / weight / weight);
  result.why = "seed " + percent(prior);
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
    value *= std::pow(seed->repeatDiscount(pass), static_cast<double>(repeats));
    result.why += "; repeated";
  } else if (double opened = opens(state, pass, predecessors)) {
    value += opened;
    result.why += "; opens other passes";
  }
  double edge = repeats ? 0 : seed->bonus(predecessors, pass);
  if (!predecessors.empty())
    edge += learntEdge(predecessors.back(), pass);
  if (edge != 0) {
    value += edge;
    result.why += "; after '" + predecessors.back() + "' " + percent(edge);
  }
  result.value = result.success * std::max(0.0, value);
  return result;
}

std::vector<std::string> KnowledgeBase::knownParameters(const State &state,
                                                        llvm::StringRef pass) const {
  std::map<std::string, std::pair<double, double>> sums; // weighted gain, weight
  for (const auto &[key, byText] : knowledge.parameters) {
    if (key.state != state.primary || key.pass != pass)
      continue;
    for (const auto &[text, gain] : byText) {
      double weight = trust(key.chip, key.device) * static_cast<double>(gain.count);
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

std::vector<RetrievedEntry> KnowledgeBase::retrieve(const State &state, llvm::StringRef shape,
                                                    unsigned limit) const {
  std::set<std::string> passes;
  for (const Optimization &entry : seed->optimizations())
    if (llvm::any_of(state.shares,
                     [&](const StateShare &share) { return entry.answerTo(share.name); }))
      passes.insert(entry.name);
  for (const auto &entry : knowledge.passes)
    if (entry.first.state == state.primary)
      passes.insert(entry.first.pass);
  std::vector<RetrievedEntry> result;
  for (const std::string &pass : passes)
    result.push_back({seed->find(pass), pass, predict(state, pass, {}, shape)});
  llvm::sort(result, [](const RetrievedEntry &a, const RetrievedEntry &b) {
    if (a.prediction.value != b.prediction.value)
      return a.prediction.value > b.prediction.value;
    return a.pass < b.pass;
  });
  if (result.size() > limit)
    result.resize(limit);
  return result;
}

std::string kbopt::userKnowledgeDirectory() { return userDataDirectory() + "/knowledge"; }

std::string kbopt::evidenceLog(llvm::StringRef directory) {
  return (directory + "/evidence.jsonl").str();
}

EvidenceSet kbopt::builtinEvidence(llvm::StringRef device, std::vector<BadLine> &bad) {
  EvidenceSet all;
  for (const BuiltinFile &file : builtinKnowledge()) {
    if (!file.path.starts_with("evidence/"))
      continue;
    EvidenceSet set = parseEvidenceLog(file.bytes, file.path, bad);
    for (const auto &[id, record] : set.records())
      if (record.device == device)
        all.insert(record);
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
