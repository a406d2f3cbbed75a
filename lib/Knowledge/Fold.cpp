//===- Fold.cpp - Statistics that are the same everywhere -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/Fold.h"
#include "kb-opt/Knowledge/State.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

// A fused multiply-add would make the last bit depend on the machine.
#pragma STDC FP_CONTRACT OFF

using namespace kbopt;

namespace {

/// Neumaier's sum: the error of each addition is carried along.
class Sum {
public:
  void add(double value) {
    double next = total + value;
    carried +=
        std::fabs(total) >= std::fabs(value) ? (total - next) + value : (value - next) + total;
    total = next;
  }
  double value() const { return total + carried; }

private:
  double total = 0, carried = 0;
};

/// A proven gain counts whole. What was screened alone was measured more briefly, and a few of
/// those programs are refused when they are proven; the share is our choice.
constexpr double provenWeight = 1, screenedWeight = 0.5;

/// Values in the order of the records' ids, with their weights.
using Values = std::vector<std::pair<double, double>>;

double weightOf(const Values &values) {
  Sum weights;
  for (const auto &[value, weight] : values)
    weights.add(weight);
  return weights.value();
}

double meanOf(const Values &values) {
  Sum sum;
  for (const auto &[value, weight] : values)
    sum.add(weight * value);
  return values.empty() ? 0 : sum.value() / weightOf(values);
}

GainStatistics statisticsOf(const Values &values) {
  GainStatistics result;
  result.count = values.size();
  result.weight = weightOf(values);
  result.mean = meanOf(values);
  if (values.size() < 2 || result.weight <= provenWeight)
    return result;
  Sum squares;
  for (const auto &[value, weight] : values)
    squares.add(weight * (value - result.mean) * (value - result.mean));
  result.variance = squares.value() / (result.weight - provenWeight);
  return result;
}

std::string parameterText(const std::map<std::string, std::string> &parameters) {
  std::string text;
  for (const auto &[name, value] : parameters)
    if (name != "reply") // a reply is of one program
      text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

struct PassValues {
  Values gain, credit, predicted, gap;
  std::map<std::string, Values> byParameters;
};

} // namespace

/// Bytes of the number at the front of \p text (12, -3, 0x1f, 1.5e-3), 0 if none.
static size_t numberLength(llvm::StringRef text) {
  size_t at = text.starts_with("-");
  if (at == text.size() || !llvm::isDigit(text[at]))
    return 0;
  bool hexadecimal = text.substr(at).starts_with("0x");
  for (; at != text.size(); ++at) {
    bool exponent = (text[at] == '-' || text[at] == '+') && text[at - 1] == 'e' && !hexadecimal &&
                    at + 1 != text.size() && llvm::isDigit(text[at + 1]);
    if (!llvm::isAlnum(text[at]) && text[at] != '.' && !exponent)
      break;
  }
  return at;
}

bool FailureKey::operator<(const FailureKey &other) const {
  auto names = [](const FailureKey &key) {
    return std::tuple(llvm::StringRef(key.pass), toString(key.gate), toString(key.failure),
                      llvm::StringRef(key.cause));
  };
  return names(*this) < names(other);
}

std::string FailureKey::word() const {
  return (failure == FailureClass::None ? toString(gate) : toString(failure)).str();
}

std::string kbopt::reasonClass(llvm::StringRef reason) {
  std::string lower = llvm::StringRef(findingText(reason, 1000)).lower(), text;
  llvm::StringRef rest = lower;
  auto isName = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  while (!rest.empty()) {
    char c = rest.front();
    bool inName = !text.empty() && isName(text.back());
    if (c == '\'' && !inName && rest.find('\'', 1) != llvm::StringRef::npos) {
      text += "\'\'";
      rest = rest.drop_front(rest.find('\'', 1) + 1);
    } else if (size_t length = inName ? 0 : numberLength(rest)) {
      text += '#';
      rest = rest.drop_front(length);
    } else if (c == '/') {
      // Of a path its last part.
      while (!text.empty() && (isName(text.back()) || text.back() == '.' || text.back() == '-'))
        text.pop_back();
      rest = rest.drop_front();
    } else {
      text += c;
      rest = rest.drop_front();
    }
  }
  return findingText(text, 72);
}

std::map<Digest, Digest> kbopt::experimentsOf(const EvidenceSet &evidence) {
  std::map<Digest, Digest> standsFor, first;
  for (const auto &[id, record] : evidence.records())
    // The CPU device's answer never changes: asked twice it is still one.
    standsFor[id] = record.device == "cpu-modelled"
                        ? first.try_emplace(record.experiment(), id).first->second
                        : id;
  return standsFor;
}

FoldedKnowledge kbopt::foldEvidence(const EvidenceSet &evidence) {
  FoldedKnowledge result;
  std::map<PassKey, PassValues> passes;
  std::map<EdgeKey, Values> edges;
  Sum cost;
  DigestBuilder ids;
  std::map<Digest, Digest> counted = experimentsOf(evidence);
  for (const auto &[id, record] : evidence.records()) {
    ++result.records;
    if (counted.at(id) != id) {
      ++result.repeated;
      continue;
    }
    ids.add(id);
    result.tokens += record.tokens;
    cost.add(record.cost.value_or(0));
    if (!record.nest.empty() && record.primary == unknownState)
      continue; // it tells the order of schedules and nothing of states
    PassKey key{record.primary, record.pass, record.chip, record.device, record.shape};
    PassStatistics &statistics = result.passes[key];
    PassValues &values = passes[key];
    const bool isScreened = record.verdict == VerdictKind::Screened;
    const double weight = isScreened ? screenedWeight : provenWeight;
    ++(isScreened ? statistics.screened : statistics.tries);
    statistics.applied += !isScreened && record.verdict != VerdictKind::NotApplied;
    // A reply that was refused never got as far as a verdict.
    if (record.verdict == VerdictKind::Incorrect || record.failure != FailureClass::None) {
      FailureStatistics &failure =
          result.failures[{record.pass, record.gate, record.failure,
                           reasonClass(record.cause.empty() ? record.reason : record.cause)}];
      if (failure.count++ == 0)
        failure.reason = record.reason;
      failure.states.insert(record.primary);
    }
    if (record.verdict != VerdictKind::Correct && !isScreened)
      continue;
    statistics.correct += !isScreened;
    if (!record.achievedGain)
      continue;
    values.gain.emplace_back(*record.achievedGain, weight);
    values.credit.emplace_back(record.creditGain.value_or(*record.achievedGain), weight);
    if (record.predictedGain) {
      values.predicted.emplace_back(*record.predictedGain, weight);
      values.gap.emplace_back(*record.achievedGain - *record.predictedGain, weight);
    }
    // What was not proven is not shown as an example.
    if (!record.reply.empty() && !isScreened) {
      auto [best, added] = result.examples.try_emplace(key);
      if (added || *record.achievedGain > best->second.gain)
        best->second = {id, record.reply, *record.achievedGain, record.shape,
                        parameterText(record.parameters)};
    }
    values.byParameters[parameterText(record.parameters)].emplace_back(*record.achievedGain,
                                                                       weight);
    if (!record.predecessor.empty())
      edges[{record.predecessor, record.pass, record.chip, record.device}].emplace_back(
          *record.achievedGain, weight);
  }
  for (const auto &[key, values] : passes) {
    PassStatistics &statistics = result.passes[key];
    statistics.gain = statisticsOf(values.gain);
    statistics.credit = statisticsOf(values.credit);
    statistics.predicted = values.predicted.size();
    statistics.predictedMean = meanOf(values.predicted);
    statistics.gapMean = meanOf(values.gap);
    for (const auto &[text, gains] : values.byParameters)
      result.parameters[key][text] = statisticsOf(gains);
  }
  for (const auto &[key, values] : edges)
    result.edges[key] = statisticsOf(values);
  for (const auto &[id, finding] : evidence.findings()) {
    ++result.findings;
    ids.add(id);
  }
  result.words = foldWords(evidence, counted);
  result.cost = cost.value();
  result.evidence = ids.finish();
  return result;
}
