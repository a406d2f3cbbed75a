//===- Diff.cpp - diff ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Verbs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
namespace json = llvm::json;

namespace {

/// Things that have a name, and what is said of each.
using Said = std::map<std::string, std::string>;

Said passesOf(const FoldedKnowledge &knowledge) {
  Said said;
  for (const auto &[key, row] : knowledge.passes) {
    std::string figures = llvm::formatv("{0} tried, {1} correct", row.tries, row.correct);
    if (row.gain.count)
      figures += ", gain " + percent(row.gain.mean);
    said[key.state + " " + key.pass + " " + key.chip + " " + key.device] = figures;
  }
  return said;
}

Said failuresOf(const FoldedKnowledge &knowledge) {
  Said said;
  for (const auto &[key, failure] : knowledge.failures)
    said[key.pass + " " + key.word() + ": " + key.cause] = counted(failure.count, "time");
  return said;
}

Said lessonsOf(const FoldedKnowledge &knowledge) {
  Said said;
  for (const auto &[key, lessons] : knowledge.words.lessons)
    for (const Lesson &lesson : lessons)
      said[lesson.state + (lesson.pass.empty() ? "" : " " + lesson.pass) + " \"" + lesson.text +
           "\""] =
          counted(lesson.evidence.size(), "attempt") +
          llvm::formatv(", {0} for it, {1} against", lesson.supports, lesson.against).str();
  return said;
}

Said statesOf(const FoldedKnowledge &knowledge) {
  Said said;
  for (const DiscoveredState &state : knowledge.words.states)
    said[state.fullName()] = state.rule.empty() ? "in words" : "where " + state.rule;
  return said;
}

Said proposalsOf(const FoldedKnowledge &knowledge) {
  Said said;
  for (const auto &[key, proposed] : knowledge.words.proposals)
    said[proposed.state + " " + proposed.pass] =
        "gain " + percent(proposed.predictedGain) + (proposed.unproven ? ", unproven" : ", tried");
  return said;
}

class Difference {
public:
  void add(llvm::StringRef what, const Said &before, const Said &after) {
    for (const auto &[name, said] : before) {
      auto found = after.find(name);
      if (found == after.end())
        line('-', what, name, &said, nullptr);
      else if (found->second != said)
        line('~', what, name, &said, &found->second);
    }
    for (const auto &[name, said] : after)
      if (!before.count(name))
        line('+', what, name, nullptr, &said);
  }
  void records(char sign, size_t count) {
    if (count)
      text += std::string(1, sign) + " " + counted(count, "record") + "\n";
  }

  std::string text;
  json::Array list;

private:
  void line(char sign, llvm::StringRef what, const std::string &name, const std::string *before,
            const std::string *after) {
    text += llvm::formatv("{0} {1} {2}: {3}{4}{5}\n", sign, what, name, before ? *before : "",
                          before && after ? " -> " : "", after ? *after : "");
    json::Object row{{"what", what}, {"name", name}};
    if (before)
      row["before"] = *before;
    if (after)
      row["after"] = *after;
    list.push_back(std::move(row));
  }
};

} // namespace

llvm::Expected<ExitStatus> kbopt::runDiff(const Arguments &arguments) {
  llvm::Expected<EvidenceSet> first = readLogs(arguments.words[0]);
  if (!first)
    return first.takeError();
  llvm::Expected<EvidenceSet> second = readLogs(arguments.words[1]);
  if (!second)
    return second.takeError();
  auto lacking = [](const EvidenceSet &in, const EvidenceSet &of) {
    auto isLacking = [&](const auto &entry) { return !in.contains(entry.first); };
    return static_cast<size_t>(llvm::count_if(of.records(), isLacking) +
                               llvm::count_if(of.findings(), isLacking));
  };
  size_t removed = lacking(*second, *first), added = lacking(*first, *second);
  FoldedKnowledge before = foldEvidence(*first), after = foldEvidence(*second);
  Difference difference;
  difference.records('-', removed);
  difference.records('+', added);
  difference.add("pass", passesOf(before), passesOf(after));
  difference.add("failure", failuresOf(before), failuresOf(after));
  difference.add("lesson", lessonsOf(before), lessonsOf(after));
  difference.add("state", statesOf(before), statesOf(after));
  difference.add("proposal", proposalsOf(before), proposalsOf(after));
  llvm::Expected<ExitStatus> written =
      arguments.json ? writeJson(json::Object{{"recordsOnlyInFirst", removed},
                                              {"recordsOnlyInSecond", added},
                                              {"differences", std::move(difference.list)}})
                     : writeResult(difference.text);
  if (!written)
    return written.takeError();
  return removed || added ? ExitStatus::Diagnostics : ExitStatus::Success;
}
