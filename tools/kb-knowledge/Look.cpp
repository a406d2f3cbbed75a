//===- Look.cpp - show, explain, transfer ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Verbs.h"
#include "kb-opt/Knowledge/Prompt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace kbopt;
namespace json = llvm::json;

namespace {

std::string deviceName(llvm::StringRef device) {
  return device == "cuda" ? "cuda" : "cpu-modelled";
}

llvm::Expected<std::vector<std::string>> foldersOf(const Arguments &arguments) {
  for (const std::string &folder : arguments.knowledge)
    if (!llvm::sys::fs::is_directory(folder))
      return llvm::make_error<UsageError>("no folder '" + folder + "'",
                                          "--knowledge wants the folder of an evidence.jsonl");
  if (!arguments.knowledge.empty())
    return arguments.knowledge;
  return std::vector<std::string>{userKnowledgeDirectory()};
}

llvm::Error unknownName(llvm::StringRef what, llvm::StringRef name,
                        const std::vector<std::string> &known, const llvm::Twine &note) {
  return llvm::make_error<UsageError>(
      ("unknown " + what + " '" + name + "'" + didYouMean(name, known)).str(), note.str());
}

/// Shapes and passes that neither the seed nor evidence knows are misspelt.
llvm::Error checkNames(const KnowledgeBase &knowledge, const Arguments &arguments) {
  std::set<std::string> passes, shapes;
  for (const Optimization &entry : knowledge.catalogue().optimizations())
    passes.insert(entry.name);
  for (const std::string &shape : knowledge.catalogue().shapes())
    shapes.insert(shape);
  for (const auto &[id, record] : knowledge.evidence().records()) {
    passes.insert(record.pass);
    shapes.insert(record.shape);
  }
  for (const std::string &pass : arguments.after)
    if (!passes.count(pass) && !knowledge.catalogue().find(pass))
      return unknownName("pass", pass, {passes.begin(), passes.end()}, "kb-opt --list-passes");
  if (!arguments.shape.empty() && !shapes.count(arguments.shape))
    return unknownName("kernel shape", arguments.shape, {shapes.begin(), shapes.end()},
                       "known: " + llvm::join(shapes, " "));
  return llvm::Error::success();
}

llvm::Expected<KnowledgeBase> load(const Arguments &arguments) {
  llvm::Expected<std::vector<std::string>> folders = foldersOf(arguments);
  if (!folders)
    return folders.takeError();
  llvm::Expected<ChipInfo> chip = loadChip(arguments.chip);
  if (!chip)
    return chip.takeError();
  std::vector<BadLine> bad;
  llvm::Expected<KnowledgeBase> knowledge =
      loadKnowledge(*chip, deviceName(arguments.device), realFileSystem(), *folders, bad);
  report(bad);
  if (knowledge)
    if (llvm::Error error = checkNames(*knowledge, arguments))
      return std::move(error);
  return knowledge;
}

/// A state of which only the name is known: the seed's order is what counts.
State stateNamed(llvm::StringRef fullName) {
  auto [primary, refinement] = fullName.split('/');
  State state;
  state.primary = primary.str();
  state.refinement = refinement.str();
  state.shares.push_back({state.primary, std::nan(""), false, ""});
  return state;
}

/// What the user calls "UNC" or "UNC/column_walk".
llvm::Expected<State> findState(const KnowledgeBase &knowledge, llvm::StringRef word) {
  const StateRules &rules = StateRules::builtin();
  auto [code, refinement] = word.split('/');
  std::string name = rules.nameOf(code);
  std::vector<std::string> known = rules.names();
  if (!llvm::is_contained(known, name)) {
    for (const std::string &state : rules.names())
      known.push_back(rules.codeOf(state));
    return unknownName("state", code, known, "kb-knowledge show lists them");
  }
  if (word.contains('/') &&
      llvm::none_of(knowledge.folded().words.states, [&, wanted = refinement](const auto &state) {
        return state.parent == name && state.name == wanted;
      }))
    return llvm::make_error<UsageError>("no discovered state '" + refinement.str() + "' in '" +
                                            name + "'",
                                        "kb-knowledge show lists those that are known");
  return stateNamed(refinement.empty() ? name : name + "/" + refinement.str());
}

/// Records beside those that come with kb-opt.
size_t ownRecords(const KnowledgeBase &knowledge) {
  std::vector<BadLine> bad;
  return knowledge.evidence().size() - builtinEvidence(knowledge.device(), bad).size();
}

json::Object predictionJson(const Prediction &prediction) {
  return json::Object{{"gain", prediction.logGain},
                      {"success", prediction.success},
                      {"uncertainty", prediction.uncertainty},
                      {"observations", prediction.observations},
                      {"value", prediction.value},
                      {"unproven", prediction.unproven},
                      {"why", prediction.why}};
}

json::Object headOf(const KnowledgeBase &knowledge, const State &state) {
  return json::Object{{"state", state.fullName()},
                      {"chip", knowledge.chip().name},
                      {"device", knowledge.device()},
                      {"records", ownRecords(knowledge)}};
}

llvm::Expected<ExitStatus> listStates(const KnowledgeBase &knowledge, bool asJson) {
  const StateRules &rules = StateRules::builtin();
  std::string text;
  json::Array list;
  for (const std::string &name : rules.names()) {
    text += llvm::formatv("{0,-4} {1}\n", rules.codeOf(name), name);
    json::Array refinements;
    for (const DiscoveredState &state : knowledge.folded().words.states)
      if (state.parent == name) {
        text += llvm::formatv("     {0} ({1}): {2}{3}{4}\n", state.fullName(),
                              counted(state.attempts, "attempt"), state.text,
                              state.rule.empty() ? "" : "; where ", state.rule);
        refinements.push_back(json::Object{{"name", state.name},
                                           {"attempts", state.attempts},
                                           {"text", state.text},
                                           {"rule", state.rule}});
      }
    list.push_back(json::Object{
        {"code", rules.codeOf(name)}, {"name", name}, {"refinements", std::move(refinements)}});
  }
  return asJson ? writeJson(json::Object{{"states", std::move(list)}}) : writeResult(text);
}

/// One entry of `explain`, from the same retrieval that a prompt gets.
class Explanation {
public:
  Explanation(const KnowledgeBase &knowledge, const State &state, const Arguments &arguments)
      : knowledge(knowledge), known(retrieveForPrompt(knowledge, state, "", arguments.limit,
                                                      arguments.shape, arguments.after)) {
    for (const RetrievedEntry &entry :
         knowledge.retrieve(state, arguments.shape, ~0u, arguments.after))
      all += entry.prediction.value;
    for (const PromptEntry &entry : known.entries) {
      PredictionParts made;
      knowledge.predict(state, entry.pass, arguments.after, arguments.shape, &made);
      parts.push_back(std::move(made));
    }
  }

  std::string text() const {
    std::string result;
    llvm::raw_string_ostream os(result);
    os << known.state << " on " << knowledge.chip().product << ", "
       << (knowledge.device() == "cuda" ? "measured" : "modelled") << " times, "
       << counted(ownRecords(knowledge), "record") << " of the user's\n";
    for (const Lesson &lesson : known.lessons)
      print(os, lesson);
    for (auto [entry, made] : llvm::zip(known.entries, parts))
      print(os, entry, made);
    return result;
  }

  json::Value json() const {
    json::Array entries;
    for (auto [entry, made] : llvm::zip(known.entries, parts))
      entries.push_back(toObject(entry, made));
    return json::Object{{"lessons", lessonsOf(known.lessons)}, {"entries", std::move(entries)}};
  }

private:
  double chance(const PromptEntry &entry) const {
    return all > 0 ? entry.prediction.value / all : 0;
  }

  static void print(llvm::raw_ostream &os, const Lesson &lesson) {
    os << "    lesson \"" << lesson.text << "\" (" << counted(lesson.evidence.size(), "attempt");
    if (lesson.claim != Claim::None)
      os << "; " << lesson.supports << " for it, " << lesson.against << " against";
    os << (lesson.role.empty() ? "" : "; by " + lesson.role) << ")\n";
  }

  void print(llvm::raw_ostream &os, const PromptEntry &entry, const PredictionParts &made) const {
    const Prediction &prediction = entry.prediction;
    if (!made.excludedBy.empty()) {
      os << "\n  " << entry.pass << ": never, " << prediction.why << "\n";
      return;
    }
    os << llvm::formatv("\n  {0}: gain {1}, works {2:f0} %, drawn {3:f0} %{4}\n", entry.pass,
                        percent(prediction.logGain), 100 * prediction.success, 100 * chance(entry),
                        prediction.unproven ? ", unproven" : "");
    if (entry.optimization)
      os << "    " << entry.optimization->summary << "\n";
    os << "    prior " << percent(made.prior) << " from "
       << (made.priorFrom == "nothing" ? "nothing in particular" : "the " + made.priorFrom)
       << ", worth 3 tries\n";
    for (const PredictionRow &row : made.rows) {
      const PassStatistics &seen = row.statistics;
      os << llvm::formatv("    {0} on {1} ({2}) in {3}, {4} correct",
                          seen.tries == 1 ? "1 try" : std::to_string(seen.tries) + " tries",
                          row.key.chip, row.key.device, row.key.state, seen.correct);
      if (seen.gain.count)
        os << ", mean " << percent(seen.gain.mean);
      os << llvm::formatv("; each counts {0:f2}\n", row.weight);
    }
    if (made.repeated != 1)
      os << llvm::formatv("    was there before: {0:f2} of it is left\n", made.repeated);
    if (made.opens != 0)
      os << "    opens later passes worth " << percent(made.opens) << "\n";
    if (made.seedEdge != 0)
      os << "    follows a pass that enables it: " << percent(made.seedEdge) << "\n";
    if (made.learntEdge != 0)
      os << "    as seen behind the last pass: " << percent(made.learntEdge) << "\n";
    if (!entry.proposal.empty())
      os << "    proposed: \"" << entry.proposal << "\"\n";
    for (const Lesson &lesson : entry.lessons)
      print(os, lesson);
    for (const KnownFailure &failure : entry.failures)
      os << "    failed " << counted(failure.count, "time")
         << (failure.here ? "" : " in other states") << ", " << failure.kind << ": "
         << findingText(failure.reason, 160) << "\n";
    if (!entry.parameters.empty())
      os << "    worked with " << llvm::join(entry.parameters, "; ") << "\n";
    if (entry.example)
      os << "    best reply " << entry.example->reply << ", gain " << percent(entry.example->gain)
         << "\n";
  }

  static json::Array lessonsOf(llvm::ArrayRef<Lesson> lessons) {
    json::Array list;
    for (const Lesson &lesson : lessons)
      list.push_back(json::Object{{"text", lesson.text},
                                  {"role", lesson.role},
                                  {"claim", claimName(lesson.claim)},
                                  {"supports", lesson.supports},
                                  {"against", lesson.against},
                                  {"evidence", json::Array(lesson.evidence)}});
    return list;
  }

  json::Object toObject(const PromptEntry &entry, const PredictionParts &made) const {
    json::Array rows, failures;
    for (const PredictionRow &row : made.rows)
      rows.push_back(json::Object{{"state", row.key.state},
                                  {"chip", row.key.chip},
                                  {"device", row.key.device},
                                  {"tries", row.statistics.tries},
                                  {"correct", row.statistics.correct},
                                  {"gain", row.statistics.gain.mean},
                                  {"weight", row.weight}});
    for (const KnownFailure &failure : entry.failures)
      failures.push_back(json::Object{{"kind", failure.kind},
                                      {"cause", failure.cause},
                                      {"reason", failure.reason},
                                      {"count", failure.count},
                                      {"here", failure.here}});
    json::Object object{{"pass", entry.pass},
                        {"prediction", predictionJson(entry.prediction)},
                        {"chance", chance(entry)},
                        {"prior", made.prior},
                        {"priorFrom", made.priorFrom},
                        {"evidence", std::move(rows)},
                        {"repeated", made.repeated},
                        {"opens", made.opens},
                        {"seedEdge", made.seedEdge},
                        {"learntEdge", made.learntEdge},
                        {"lessons", lessonsOf(entry.lessons)},
                        {"failures", std::move(failures)},
                        {"parameters", json::Array(entry.parameters)}};
    if (!made.excludedBy.empty())
      object["excludedBy"] = made.excludedBy;
    if (!entry.proposal.empty())
      object["proposal"] = entry.proposal;
    if (entry.example)
      object["example"] =
          json::Object{{"reply", entry.example->reply}, {"gain", entry.example->gain}};
    return object;
  }

  const KnowledgeBase &knowledge;
  PromptKnowledge known;
  std::vector<PredictionParts> parts;
  double all = 0;
};

} // namespace

llvm::Expected<ExitStatus> kbopt::runShow(const Arguments &arguments) {
  llvm::Expected<KnowledgeBase> knowledge = load(arguments);
  if (!knowledge)
    return knowledge.takeError();
  if (arguments.words.empty())
    return listStates(*knowledge, arguments.json);
  llvm::Expected<State> state = findState(*knowledge, arguments.words[0]);
  if (!state)
    return state.takeError();
  std::vector<RetrievedEntry> entries =
      knowledge->retrieve(*state, arguments.shape, arguments.limit, arguments.after);
  if (arguments.json) {
    json::Object object = headOf(*knowledge, *state);
    json::Array list;
    for (const RetrievedEntry &entry : entries) {
      json::Object row = predictionJson(entry.prediction);
      row["pass"] = entry.pass;
      list.push_back(std::move(row));
    }
    object["entries"] = std::move(list);
    return writeJson(std::move(object));
  }
  std::string text = llvm::formatv("{0} on {1}, {2} records\n", state->fullName(),
                                   knowledge->chip().product, ownRecords(*knowledge));
  for (const RetrievedEntry &entry : entries)
    text += llvm::formatv("  {0,-28} gain {1,7}  works {2,3:f0} %  {3}\n", entry.pass,
                          percent(entry.prediction.logGain), 100 * entry.prediction.success,
                          entry.prediction.why);
  return writeResult(text);
}

llvm::Expected<ExitStatus> kbopt::runExplain(const Arguments &arguments) {
  llvm::Expected<KnowledgeBase> knowledge = load(arguments);
  if (!knowledge)
    return knowledge.takeError();
  llvm::Expected<State> state = findState(*knowledge, arguments.words[0]);
  if (!state)
    return state.takeError();
  Explanation explanation(*knowledge, *state, arguments);
  if (!arguments.json)
    return writeResult(explanation.text());
  json::Object object = headOf(*knowledge, *state);
  json::Value rest = explanation.json();
  for (auto &[key, value] : *rest.getAsObject())
    object[key] = std::move(value);
  return writeJson(std::move(object));
}

llvm::Expected<ExitStatus> kbopt::runTransfer(const Arguments &arguments) {
  for (auto [name, value] :
       {std::pair("--from", &arguments.from), std::pair("--to", &arguments.to)})
    if (value->empty())
      return llvm::make_error<UsageError>("option " + std::string(name) + " is missing",
                                          "kb-knowledge transfer --from a100 --to h200");
  llvm::Expected<ChipInfo> from = loadChip(arguments.from), to = loadChip(arguments.to);
  if (!from || !to)
    return llvm::joinErrors(from.takeError(), to.takeError());
  llvm::Expected<std::vector<std::string>> folders = foldersOf(arguments);
  if (!folders)
    return folders.takeError();
  std::vector<BadLine> bad;
  EvidenceSet all;
  for (const char *device : {"cpu-modelled", "cuda"})
    all.merge(builtinEvidence(device, bad));
  for (const std::string &folder : *folders) {
    llvm::Expected<EvidenceSet> set = readEvidence(realFileSystem(), evidenceLog(folder), bad);
    if (!set)
      return set.takeError();
    all.merge(*set);
  }
  report(bad);

  std::string text =
      llvm::formatv("predictions for {0} from what was tried on {1}; no measurements\n"
                    "  {2,-44} {3,-28} {4,-12} {5,5} {6,9} {7,7} {8,9} {9,9}\n",
                    to->product, from->product, "state", "pass", "times", "tries", "seen", "counts",
                    "predicted", "own");
  json::Array rows;
  FoldedKnowledge own = foldEvidence(all);
  for (const char *device : {"cpu-modelled", "cuda"}) {
    EvidenceSet seen;
    for (const auto &[id, record] : all.records())
      if (record.chip == from->name && record.device == device)
        seen.insert(record);
    KnowledgeBase there(*to, device);
    there.learn(seen);
    for (const auto &[key, statistics] : there.folded().passes) {
      Prediction predicted = there.predict(stateNamed(key.state), key.pass, {});
      double counts = there.trust(key.chip, key.device);
      auto tried = own.passes.find({key.state, key.pass, to->name, device});
      bool hasOwn = from->name != to->name && tried != own.passes.end() && tried->second.gain.count;
      text += llvm::formatv(
          "  {0,-44} {1,-28} {2,-12} {3,5} {4,9} {5,7:f2} {6,9} {7,9}\n", key.state, key.pass,
          device, statistics.tries, statistics.gain.count ? percent(statistics.gain.mean) : "-",
          counts, percent(predicted.logGain), hasOwn ? percent(tried->second.gain.mean) : "-");
      json::Object row{{"state", key.state},
                       {"pass", key.pass},
                       {"device", device},
                       {"tries", statistics.tries},
                       {"correct", statistics.correct},
                       {"weight", counts},
                       {"predicted", predictionJson(predicted)}};
      if (statistics.gain.count)
        row["seen"] = statistics.gain.mean;
      if (hasOwn)
        row["own"] = tried->second.gain.mean;
      rows.push_back(std::move(row));
    }
  }
  if (arguments.json)
    return writeJson(
        json::Object{{"from", from->name}, {"to", to->name}, {"rows", std::move(rows)}});
  return writeResult(rows.empty() ? "no evidence of " + from->product + "\n" : text);
}
