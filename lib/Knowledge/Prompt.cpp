//===- Prompt.cpp - Retrieval of words and examples -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/Prompt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace kbopt;

namespace {

/// Lessons of \p pass in the state and then its parent, those of this chip first.
std::vector<Lesson> lessonsOf(const KnowledgeBase &knowledge, const State &state,
                              llvm::StringRef pass) {
  std::vector<Lesson> result, elsewhere;
  const auto &all = knowledge.folded().words.lessons;
  auto take = [&](const std::string &name) {
    auto found = all.find({name, pass.str()});
    if (found == all.end())
      return;
    for (const Lesson &lesson : found->second)
      (lesson.chips.empty() || lesson.chips.count(knowledge.chip().name) ? result : elsewhere)
          .push_back(lesson);
  };
  take(state.fullName());
  if (!state.refinement.empty())
    take(state.primary);
  llvm::append_range(result, elsewhere);
  if (result.size() > shownPerEntry)
    result.resize(shownPerEntry);
  return result;
}

/// Of kernels of another shape than \p shape there is none.
std::optional<WorkedExample> exampleOf(const KnowledgeBase &knowledge, const State &state,
                                       llvm::StringRef pass, llvm::StringRef shape) {
  std::optional<WorkedExample> best;
  double bestGain = 0;
  for (const auto &[key, example] : knowledge.folded().examples) {
    if (key.pass != pass || (!shape.empty() && !key.shape.empty() && key.shape != shape))
      continue;
    double believed = stateKinship(key.state, state) * knowledge.trust(key.chip, key.device);
    // A slower program is no example.
    if (believed * example.gain > bestGain) {
      bestGain = believed * example.gain;
      best = example;
    }
  }
  return best;
}

std::string percent(double logGain) { return llvm::formatv("{0:f1} %", 100 * std::expm1(logGain)); }

std::string quoted(llvm::StringRef words) {
  return llvm::formatv("{0}", llvm::json::Value(llvm::json::fixUTF8(words))).str();
}

void printLesson(llvm::raw_ostream &os, const Lesson &lesson, llvm::StringRef indent) {
  os << indent << "- lesson " << quoted(lesson.text) << " (rests on " << lesson.evidence.size()
     << (lesson.evidence.size() == 1 ? " attempt" : " attempts");
  if (lesson.claim != Claim::None)
    os << "; " << lesson.supports << " for it, " << lesson.against << " against";
  if (!lesson.chips.empty())
    os << "; seen on " << llvm::join(lesson.chips, ", ");
  os << ")\n";
}

} // namespace

const WorkedExample *PromptKnowledge::example() const {
  for (const PromptEntry &entry : entries)
    if (entry.example)
      return &*entry.example;
  return nullptr;
}

std::vector<KnownFailure> kbopt::knownFailures(const KnowledgeBase &knowledge, const State &state,
                                               llvm::StringRef pass, size_t limit) {
  std::vector<KnownFailure> result;
  for (const auto &[key, failure] : knowledge.folded().failures)
    if (key.pass == pass)
      result.push_back({key.word(), key.cause, failure.reason, failure.count,
                        llvm::any_of(failure.states, [&](const std::string &seen) {
                          return stateKinship(seen, state.fullName()) > 0;
                        })});
  llvm::sort(result, [](const KnownFailure &a, const KnownFailure &b) {
    return std::tie(b.here, b.count, a.kind, a.cause) < std::tie(a.here, a.count, b.kind, b.cause);
  });
  if (result.size() > limit)
    result.resize(limit);
  return result;
}

PromptKnowledge kbopt::retrieveForPrompt(const KnowledgeBase &knowledge, const State &state,
                                         llvm::StringRef pass, unsigned limit,
                                         llvm::StringRef shape,
                                         const std::vector<std::string> &predecessors,
                                         const std::set<std::string> *among) {
  PromptKnowledge result;
  result.state = state.fullName();
  result.lessons = lessonsOf(knowledge, state, "");
  for (const DiscoveredState &refinement : knowledge.folded().words.states)
    if (refinement.parent == state.primary)
      result.refinements.push_back(refinement);
  std::vector<RetrievedEntry> rows;
  if (pass.empty()) {
    rows = knowledge.retrieve(state, shape, ~0u, predecessors);
    if (among)
      llvm::erase_if(rows, [&](const RetrievedEntry &row) { return !among->count(row.pass); });
    if (rows.size() > limit)
      rows.resize(limit);
  } else {
    rows.push_back({knowledge.catalogue().find(pass), pass.str(),
                    knowledge.predict(state, pass, predecessors, shape)});
  }
  for (RetrievedEntry &row : rows) {
    PromptEntry entry;
    entry.pass = row.pass;
    entry.optimization = row.optimization;
    entry.prediction = std::move(row.prediction);
    entry.lessons = lessonsOf(knowledge, state, row.pass);
    entry.failures = knownFailures(knowledge, state, row.pass);
    entry.parameters = knowledge.knownParameters(state, row.pass);
    if (entry.parameters.size() > shownPerEntry)
      entry.parameters.resize(shownPerEntry);
    for (const auto &[key, proposed] : knowledge.folded().words.proposals)
      if (proposed.pass == row.pass && coversState(proposed.state, result.state))
        entry.proposal = proposed.text;
    entry.example = exampleOf(knowledge, state, row.pass, shape);
    result.entries.push_back(std::move(entry));
  }
  return result;
}

std::string kbopt::promptText(const PromptKnowledge &knowledge) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "State: " << knowledge.state << "\n";
  for (const DiscoveredState &refinement : knowledge.refinements)
    os << "- refinement '" << refinement.name << "' " << quoted(refinement.text)
       << (refinement.rule.empty() ? "" : " where " + refinement.rule) << "\n";
  for (const Lesson &lesson : knowledge.lessons)
    printLesson(os, lesson, "");
  for (const PromptEntry &entry : knowledge.entries) {
    os << "\n"
       << findingText(entry.pass, 64) << ": predicted " << percent(entry.prediction.logGain)
       << ", works " << llvm::formatv("{0:f0} %", 100 * entry.prediction.success) << " ("
       << findingText(entry.prediction.why) << ")\n";
    if (entry.optimization && !entry.optimization->summary.empty())
      os << "  " << entry.optimization->summary << "\n";
    if (!entry.proposal.empty())
      os << "  - proposed " << quoted(entry.proposal)
         << (entry.prediction.unproven ? " (not tried here)" : "") << "\n";
    for (const Lesson &lesson : entry.lessons)
      printLesson(os, lesson, "  ");
    for (const KnownFailure &failure : entry.failures)
      os << "  - failed " << failure.count << (failure.count == 1 ? " time" : " times")
         << (failure.here ? "" : " in other states") << ", " << findingText(failure.kind, 32)
         << ": " << quoted(findingText(failure.reason, 160)) << "\n";
    if (!entry.parameters.empty())
      os << "  - worked with " << findingText(llvm::join(entry.parameters, "; ")) << "\n";
  }
  for (const PromptEntry &entry : knowledge.entries)
    if (entry.example) {
      os << "\nWorked example: reply " << entry.example->reply << " of "
         << findingText(entry.pass, 64) << ", gain " << percent(entry.example->gain);
      if (!entry.example->shape.empty())
        os << ", on a kernel of shape " << findingText(entry.example->shape, 64);
      os << "\n";
      break;
    }
  return text;
}
