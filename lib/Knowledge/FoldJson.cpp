//===- FoldJson.cpp - Folded knowledge as text that people read -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/Fold.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;
namespace json = llvm::json;

namespace {

/// Bytes that each list may take: with the head, `readableBytes`.
constexpr size_t passBytes = 18 << 10, parameterBytes = 4 << 10, edgeBytes = 4 << 10,
                 failureBytes = 6 << 10, lessonBytes = 12 << 10, stateBytes = 2 << 10,
                 proposalBytes = 2 << 10, exampleBytes = 1 << 10;
static_assert(passBytes + parameterBytes + edgeBytes + failureBytes + lessonBytes + stateBytes +
                  proposalBytes + exampleBytes <
              readableBytes);
/// Ids of a lesson's evidence that are printed.
constexpr size_t shownIds = 4;

/// One object on one line.
class Row {
public:
  Row &text(llvm::StringRef key, llvm::StringRef value) {
    return raw(key, llvm::formatv("{0}", json::Value(json::fixUTF8(value))).str());
  }
  Row &count(llvm::StringRef key, uint64_t value) { return raw(key, std::to_string(value)); }
  Row &countIfAny(llvm::StringRef key, uint64_t value) { return value ? count(key, value) : *this; }
  Row &number(llvm::StringRef key, double value) {
    // No negative zero, six digits.
    return raw(key, llvm::formatv("{0}", llvm::format("%.6g", value == 0 ? 0 : value)).str());
  }
  Row &gains(const GainStatistics &gain) {
    return count("gainCount", gain.count)
        .number("gainMean", gain.mean)
        .number("gainVariance", gain.variance);
  }
  Row &key(const PassKey &key) {
    text("state", key.state).text("pass", key.pass).text("chip", key.chip);
    text("device", key.device);
    return key.shape.empty() ? *this : text("shape", key.shape);
  }
  template <typename Range> Row &texts(llvm::StringRef key, const Range &values) {
    std::string list;
    for (const std::string &value : values)
      list += (list.empty() ? "" : ", ") +
              llvm::formatv("{0}", json::Value(json::fixUTF8(value))).str();
    return raw(key, "[" + list + "]");
  }
  std::string finish() const { return "{" + body + "}"; }

private:
  Row &raw(llvm::StringRef key, const std::string &value) {
    body += (body.empty() ? "\"" : ", \"") + key.str() + "\": " + value;
    return *this;
  }
  std::string body;
};

/// Rows of one list, and how much each matters.
class List {
public:
  List(llvm::StringRef name, size_t bytes) : name(name), bytes(bytes) {}
  void add(const Row &row, uint64_t weight) { rows.push_back({row.finish(), weight}); }

  /// Writes what fits, in the order it was added; returns how many rows did not.
  size_t write(llvm::raw_ostream &os, bool everything) const {
    std::vector<size_t> order(rows.size());
    for (size_t i = 0; i != order.size(); ++i)
      order[i] = i;
    llvm::sort(order, [&](size_t a, size_t b) {
      return std::pair(rows[b].weight, a) < std::pair(rows[a].weight, b);
    });
    std::set<size_t> kept;
    size_t used = 0;
    for (size_t index : order) {
      used += rows[index].text.size() + 6;
      if (!everything && used > bytes)
        break;
      kept.insert(index);
    }
    os << "  \"" << name << "\": [";
    for (size_t index : kept)
      os << (index == *kept.begin() ? "\n    " : ",\n    ") << rows[index].text;
    os << "\n  ],\n";
    return rows.size() - kept.size();
  }
  llvm::StringRef title() const { return name; }

private:
  struct Entry {
    std::string text;
    uint64_t weight;
  };
  llvm::StringRef name;
  size_t bytes;
  std::vector<Entry> rows;
};

List passList(const FoldedKnowledge &knowledge) {
  List list("passes", passBytes);
  for (const auto &[key, statistics] : knowledge.passes)
    list.add(Row()
                 .key(key)
                 .count("tries", statistics.tries)
                 .count("applied", statistics.applied)
                 .count("correct", statistics.correct)
                 .countIfAny("screened", statistics.screened)
                 .gains(statistics.gain)
                 .number("creditMean", statistics.credit.mean)
                 .number("predictedMean", statistics.predictedMean)
                 .number("gapMean", statistics.gapMean),
             statistics.tries);
  return list;
}

List parameterList(const FoldedKnowledge &knowledge) {
  List list("parameters", parameterBytes);
  for (const auto &[key, byText] : knowledge.parameters)
    for (const auto &[parameters, gain] : byText)
      if (!parameters.empty())
        list.add(Row().key(key).text("parameters", parameters).gains(gain), gain.count);
  return list;
}

List edgeList(const FoldedKnowledge &knowledge) {
  List list("edges", edgeBytes);
  for (const auto &[key, gain] : knowledge.edges)
    list.add(Row()
                 .text("before", key.before)
                 .text("after", key.after)
                 .text("chip", key.chip)
                 .text("device", key.device)
                 .gains(gain),
             gain.count);
  return list;
}

List failureList(const FoldedKnowledge &knowledge) {
  List list("failures", failureBytes);
  for (const auto &[key, failure] : knowledge.failures)
    list.add(Row()
                 .text("pass", key.pass)
                 .text("gate", toString(key.gate))
                 .text("failure", toString(key.failure))
                 .text("cause", key.cause)
                 .count("count", failure.count)
                 .text("reason", findingText(failure.reason, 160))
                 .texts("states", failure.states),
             failure.count);
  return list;
}

List exampleList(const FoldedKnowledge &knowledge) {
  List list("examples", exampleBytes);
  for (const auto &[key, example] : knowledge.examples)
    list.add(Row().key(key).text("reply", example.reply).number("gain", example.gain),
             example.gain > 0 ? static_cast<uint64_t>(example.gain * 1e6) : 0);
  return list;
}

List lessonList(const FoldedWords &words) {
  List list("lessons", lessonBytes);
  for (const auto &[key, lessons] : words.lessons)
    for (const Lesson &lesson : lessons) {
      std::vector<Digest> ids = lesson.evidence;
      ids.resize(std::min(ids.size(), shownIds));
      list.add(Row()
                   .text("state", lesson.state)
                   .text("pass", lesson.pass)
                   .texts("chips", lesson.chips)
                   .text("text", lesson.text)
                   .text("claim", claimName(lesson.claim))
                   .count("supports", lesson.supports)
                   .count("against", lesson.against)
                   .text("role", lesson.role)
                   .count("restsOn", lesson.evidence.size())
                   .texts("evidence", ids),
               lesson.evidence.size() + lesson.supports);
    }
  return list;
}

List stateList(const FoldedWords &words) {
  List list("states", stateBytes);
  for (const DiscoveredState &state : words.states)
    list.add(Row()
                 .text("state", state.fullName())
                 .text("rule", state.rule)
                 .text("text", state.text)
                 .count("attempts", state.attempts),
             state.attempts);
  return list;
}

List proposalList(const FoldedWords &words) {
  List list("proposals", proposalBytes);
  for (const auto &[key, proposed] : words.proposals)
    list.add(Row()
                 .text("state", proposed.state)
                 .text("pass", proposed.pass)
                 .text("text", proposed.text)
                 .number("predictedGain", proposed.predictedGain)
                 .count("proposals", proposed.proposals)
                 .text("standing", proposed.unproven ? "unproven" : "tried"),
             proposed.proposals);
  return list;
}

} // namespace

std::string kbopt::toJson(const FoldedKnowledge &knowledge, bool everything) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\n  \"version\": 2,\n  \"evidence\": \"" << knowledge.evidence
     << "\",\n  \"attempts\": " << knowledge.records - knowledge.repeated
     << ",\n  \"findings\": " << knowledge.findings << ",\n  \"tokens\": " << knowledge.tokens
     << llvm::formatv(",\n  \"cost\": {0},\n", llvm::format("%.6g", knowledge.cost));
  Row leftOut;
  for (const List &list :
       {passList(knowledge), parameterList(knowledge), edgeList(knowledge), failureList(knowledge),
        exampleList(knowledge), lessonList(knowledge.words), stateList(knowledge.words),
        proposalList(knowledge.words)})
    if (size_t left = list.write(os, everything))
      leftOut.count(list.title(), left);
  const FoldedWords &words = knowledge.words;
  for (auto [key, count] :
       {std::pair("duplicateLessons", words.duplicates),
        std::pair("unsupportedLessons", words.unsupported),
        std::pair("outvotedLessons", words.outvoted), std::pair("crowdedOut", words.crowdedOut)})
    if (count)
      leftOut.count(key, count);
  os << "  \"leftOut\": " << leftOut.finish() << "\n}\n";
  return text;
}
