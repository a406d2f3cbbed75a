//===- Fold.cpp - Statistics that are the same everywhere -----------------===//
#include "kb-opt/Knowledge/Fold.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <set>

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

/// Values in the order of the records' ids.
using Values = std::vector<double>;

double meanOf(const Values &values) {
  Sum sum;
  for (double value : values)
    sum.add(value);
  return values.empty() ? 0 : sum.value() / static_cast<double>(values.size());
}

GainStatistics statisticsOf(const Values &values) {
  GainStatistics result;
  result.count = values.size();
  result.mean = meanOf(values);
  if (values.size() < 2)
    return result;
  Sum squares;
  for (double value : values)
    squares.add((value - result.mean) * (value - result.mean));
  result.variance = squares.value() / static_cast<double>(values.size() - 1);
  return result;
}

std::string parameterText(const std::map<std::string, std::string> &parameters) {
  std::string text;
  for (const auto &[name, value] : parameters)
    text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

struct PassValues {
  Values gain, credit, predicted, gap;
  std::map<std::string, Values> byParameters;
};

} // namespace

FoldedKnowledge kbopt::foldEvidence(const EvidenceSet &evidence) {
  FoldedKnowledge result;
  std::map<PassKey, PassValues> passes;
  std::map<EdgeKey, Values> edges;
  std::set<Digest> experiments;
  DigestBuilder ids;
  for (const auto &[id, record] : evidence.records()) {
    ++result.records;
    ids.add(id);
    // The CPU device's answer never changes: asked twice it is still one.
    if (record.device == "cpu-modelled" && !experiments.insert(record.experiment()).second) {
      ++result.repeated;
      continue;
    }
    PassKey key{record.primary, record.pass, record.chip, record.device};
    PassStatistics &statistics = result.passes[key];
    PassValues &values = passes[key];
    ++statistics.tries;
    statistics.applied += record.verdict != AttemptVerdict::NotApplied;
    if (record.verdict == AttemptVerdict::Incorrect) {
      FailureStatistics &failure = result.failures[{record.pass, record.gate, record.failure}];
      if (failure.count++ == 0)
        failure.reason = record.reason;
    }
    if (record.verdict != AttemptVerdict::Correct)
      continue;
    ++statistics.correct;
    if (!record.achievedGain)
      continue;
    values.gain.push_back(*record.achievedGain);
    values.credit.push_back(record.creditGain.value_or(*record.achievedGain));
    if (record.predictedGain) {
      values.predicted.push_back(*record.predictedGain);
      values.gap.push_back(*record.achievedGain - *record.predictedGain);
    }
    values.byParameters[parameterText(record.parameters)].push_back(*record.achievedGain);
    if (!record.predecessor.empty())
      edges[{record.predecessor, record.pass, record.chip, record.device}].push_back(
          *record.achievedGain);
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
  result.evidence = ids.finish();
  return result;
}

namespace {

/// Writes one object per line, so that two folds can be compared with diff.
class Writer {
public:
  explicit Writer(llvm::raw_ostream &os) : os(os) {}

  void list(llvm::StringRef name) {
    os << (anyList ? "\n  ],\n" : "") << "  \"" << name << "\": [";
    anyList = true;
    anyRow = false;
  }
  void row() {
    os << (anyRow ? ",\n    {" : "\n    {");
    anyRow = true;
    anyField = false;
  }
  void text(llvm::StringRef key, llvm::StringRef value) {
    name(key) << llvm::json::Value(llvm::json::fixUTF8(value));
  }
  void count(llvm::StringRef key, uint64_t value) { name(key) << value; }
  void number(llvm::StringRef key, double value) {
    // No negative zero, six digits.
    name(key) << llvm::formatv("{0}", llvm::format("%.6g", value == 0 ? 0 : value));
  }
  void gains(const GainStatistics &gain, llvm::StringRef prefix = "gain") {
    count((prefix + "Count").str(), gain.count);
    number((prefix + "Mean").str(), gain.mean);
    number((prefix + "Variance").str(), gain.variance);
  }
  void endRow() { os << "}"; }
  void end() { os << "\n  ]\n}\n"; }

private:
  llvm::raw_ostream &name(llvm::StringRef key) {
    os << (anyField ? ", \"" : "\"") << key << "\": ";
    anyField = true;
    return os;
  }
  llvm::raw_ostream &os;
  bool anyList = false, anyRow = false, anyField = false;
};

template <typename Key> void writeKey(Writer &writer, const Key &key) {
  writer.text("state", key.state);
  writer.text("pass", key.pass);
  writer.text("chip", key.chip);
  writer.text("device", key.device);
}

} // namespace

std::string kbopt::toJson(const FoldedKnowledge &knowledge) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\n  \"version\": 1,\n  \"evidence\": \"" << knowledge.evidence
     << "\",\n  \"records\": " << knowledge.records << ",\n  \"repeated\": " << knowledge.repeated
     << ",\n";
  Writer writer(os);
  writer.list("passes");
  for (const auto &[key, statistics] : knowledge.passes) {
    writer.row();
    writeKey(writer, key);
    writer.count("tries", statistics.tries);
    writer.count("applied", statistics.applied);
    writer.count("correct", statistics.correct);
    writer.gains(statistics.gain);
    writer.number("creditMean", statistics.credit.mean);
    writer.number("predictedMean", statistics.predictedMean);
    writer.number("gapMean", statistics.gapMean);
    writer.endRow();
  }
  writer.list("parameters");
  for (const auto &[key, byText] : knowledge.parameters)
    for (const auto &[parameters, gain] : byText) {
      if (parameters.empty())
        continue;
      writer.row();
      writeKey(writer, key);
      writer.text("parameters", parameters);
      writer.gains(gain);
      writer.endRow();
    }
  writer.list("edges");
  for (const auto &[key, gain] : knowledge.edges) {
    writer.row();
    writer.text("before", key.before);
    writer.text("after", key.after);
    writer.text("chip", key.chip);
    writer.text("device", key.device);
    writer.gains(gain);
    writer.endRow();
  }
  writer.list("failures");
  for (const auto &[key, failure] : knowledge.failures) {
    writer.row();
    writer.text("pass", key.pass);
    writer.text("gate", key.gate);
    writer.text("failure", key.failure);
    writer.count("count", failure.count);
    writer.text("reason", failure.reason);
    writer.endRow();
  }
  writer.end();
  return text;
}
