//===- kb-knowledge.cpp - Look at and combine what was learnt -------------===//
//
// Owns the command line over the Knowledge library: show, fold, merge, verify.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace kbopt;
namespace cl = llvm::cl;

static cl::OptionCategory category("kb-knowledge options");
static cl::SubCommand showCommand("show",
                                  "what is believed about a bottleneck, best optimizations first"),
    foldCommand("fold", "fold evidence logs into statistics, as JSON on stdout"),
    mergeCommand("merge", "unite evidence logs: the first gets what it lacks of the others"),
    verifyCommand("verify", "check every line of evidence logs, the seed and the devices");

static cl::list<std::string> logs(cl::Positional,
                                  cl::desc("[evidence.jsonl …; default: the user's own]"),
                                  cl::sub(foldCommand), cl::sub(verifyCommand), cl::cat(category));
static cl::list<std::string> mergeLogs(cl::Positional, cl::OneOrMore,
                                       cl::desc("target.jsonl source.jsonl …"),
                                       cl::sub(mergeCommand), cl::cat(category));
static cl::opt<std::string> stateName(cl::Positional,
                                      cl::desc("[state or its code, such as UNC; default: list]"),
                                      cl::sub(showCommand), cl::cat(category));
static cl::opt<std::string> chipName("chip", cl::init("h200"),
                                     cl::desc("chip to predict for (h200)"), cl::sub(showCommand),
                                     cl::cat(category));
static cl::opt<std::string> shape("shape", cl::desc("kernel class, such as reduction"),
                                  cl::sub(showCommand), cl::cat(category));
static cl::opt<unsigned> limit("limit", cl::init(8), cl::desc("rows at most (8)"),
                               cl::sub(showCommand), cl::cat(category));
static cl::list<std::string>
    directories("knowledge-dir", cl::desc("folder with evidence.jsonl; default: the user's own"),
                cl::sub(showCommand), cl::cat(category));

static std::vector<std::string> logsOrDefault() {
  if (!logs.empty())
    return logs;
  return {evidenceLog(userKnowledgeDirectory())};
}

/// Names every bad line on stderr.
static void report(llvm::ArrayRef<BadLine> bad) {
  for (const BadLine &line : bad)
    llvm::errs() << "kb-knowledge: warning: " << line.file << ":" << line.line
                 << ": not a record, skipped and kept in the file: " << line.reason << "\n";
}

/// Reads \p path, which must exist.
static llvm::Error readLog(llvm::StringRef path, EvidenceSet &set, std::vector<BadLine> &bad) {
  if (!realFileSystem().exists(path))
    return llvm::make_error<UsageError>(
        "no evidence log '" + path.str() + "'",
        "kb-opt -passes=auto writes one; name it, or leave it out for the user's own");
  llvm::Expected<EvidenceSet> read = readEvidence(realFileSystem(), path, bad);
  if (!read)
    return read.takeError();
  set.merge(*read);
  return llvm::Error::success();
}

static llvm::Error fold() {
  EvidenceSet all;
  std::vector<BadLine> bad;
  for (const std::string &path : logsOrDefault())
    if (llvm::Error error = readLog(path, all, bad))
      return error;
  report(bad);
  llvm::outs() << toJson(foldEvidence(all));
  return llvm::Error::success();
}

static llvm::Error merge() {
  std::vector<BadLine> bad;
  EvidenceSet target, sources;
  const std::string &path = mergeLogs.front();
  if (realFileSystem().exists(path))
    if (llvm::Error error = readLog(path, target, bad))
      return error;
  for (const std::string &source : llvm::drop_begin(mergeLogs))
    if (llvm::Error error = readLog(source, sources, bad))
      return error;
  report(bad);
  std::vector<Evidence> added;
  for (const auto &[id, record] : sources.records())
    if (!target.records().count(id))
      added.push_back(record);
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty())
    if (llvm::Error error = realFileSystem().createDirectories(folder))
      return error;
  if (llvm::Error error = appendEvidence(realFileSystem(), path, added))
    return error;
  llvm::outs() << path << ": " << added.size() << " records added, " << target.size() + added.size()
               << " now\n";
  return llvm::Error::success();
}

static llvm::Error verify(bool &clean) {
  for (const std::string &chip : builtinChips())
    if (llvm::Expected<ChipInfo> loaded = loadChip(chip); !loaded)
      return loaded.takeError();
  (void)Catalogue::builtin();
  (void)StateRules::builtin();
  EvidenceSet all;
  std::vector<BadLine> bad;
  // Without logs of one's own there is nothing wrong with them.
  for (const std::string &path : logsOrDefault())
    if (!logs.empty() || realFileSystem().exists(path))
      if (llvm::Error error = readLog(path, all, bad))
        return error;
  report(bad);
  clean = bad.empty();
  llvm::outs() << Catalogue::builtin().optimizations().size() << " optimizations, "
               << builtinChips().size() << " devices, " << all.size() << " records, " << bad.size()
               << " bad lines\n";
  return llvm::Error::success();
}

/// A state of which only the name is known: the seed's order is what counts.
static State stateNamed(llvm::StringRef name) {
  State state;
  state.primary = name.str();
  state.shares.push_back({name.str(), std::nan(""), false, ""});
  return state;
}

static llvm::Error show() {
  const StateRules &rules = StateRules::builtin();
  if (stateName.empty()) {
    for (const std::string &name : rules.names())
      llvm::outs() << llvm::formatv("{0,-4} {1}\n", rules.codeOf(name), name);
    return llvm::Error::success();
  }
  std::string name = rules.nameOf(stateName);
  if (!llvm::is_contained(rules.names(), name))
    return llvm::make_error<UsageError>("unknown state '" + stateName + "'",
                                        "kb-knowledge show lists them");
  llvm::Expected<ChipInfo> chip = loadChip(chipName);
  if (!chip)
    return chip.takeError();
  std::vector<std::string> folders = directories;
  if (folders.empty())
    folders.push_back(userKnowledgeDirectory());
  std::vector<BadLine> bad;
  llvm::Expected<KnowledgeBase> knowledge =
      loadKnowledge(*chip, "cpu-modelled", realFileSystem(), folders, bad);
  if (!knowledge)
    return knowledge.takeError();
  report(bad);
  llvm::outs() << name << " on " << chip->product << ", " << knowledge->evidence().size() - builtinEvidence("cpu-modelled", bad).size()
               << " records\n";
  for (const RetrievedEntry &entry : knowledge->retrieve(stateNamed(name), shape, limit))
    llvm::outs() << llvm::formatv("  {0,-28} gain {1,5:f1} %  works {2,3:f0} %  {3}\n", entry.pass,
                                  100 * std::expm1(entry.prediction.logGain),
                                  100 * entry.prediction.success, entry.prediction.why);
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  for (cl::SubCommand *command :
       {&cl::SubCommand::getTopLevel(), &showCommand, &foldCommand, &mergeCommand, &verifyCommand})
    cl::HideUnrelatedOptions(category, *command);
  if (!cl::ParseCommandLineOptions(argc, argv, "look at and combine what kb-opt has learnt\n",
                                   &llvm::errs()))
    return static_cast<int>(ExitStatus::Usage);
  bool clean = true;
  llvm::Error error = llvm::Error::success();
  if (showCommand)
    error = show();
  else if (foldCommand)
    error = fold();
  else if (mergeCommand)
    error = merge();
  else if (verifyCommand)
    error = verify(clean);
  else
    error = llvm::make_error<UsageError>(
        "no command", "kb-knowledge show, fold, merge or verify; --help explains");
  if (error)
    return static_cast<int>(reportError(llvm::errs(), "kb-knowledge", std::move(error)));
  return static_cast<int>(clean ? ExitStatus::Success : ExitStatus::Diagnostics);
}
