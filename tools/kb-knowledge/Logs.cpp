//===- Logs.cpp - fold, merge, verify, export, prune ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Verbs.h"
#include "kb-opt/Knowledge/Prune.h"
#include "kb-opt/Knowledge/Trajectory.h"
#include "kbrt/Database.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;
namespace json = llvm::json;

llvm::Expected<ExitStatus> kbopt::runFold(const Arguments &arguments) {
  llvm::Expected<EvidenceSet> all = readLogs(arguments.words);
  if (!all)
    return all.takeError();
  return writeResult(toJson(foldEvidence(*all)), arguments.output);
}

llvm::Expected<ExitStatus> kbopt::runMerge(const Arguments &arguments) {
  std::string path = logNamed(arguments.words.front());
  std::vector<BadLine> bad;
  llvm::Expected<EvidenceSet> target = readEvidence(realFileSystem(), path, bad);
  if (!target)
    return target.takeError();
  EvidenceSet sources;
  for (const std::string &word : llvm::drop_begin(arguments.words)) {
    if (llvm::sys::fs::is_directory(word + "/recipes") && !realFileSystem().exists(logNamed(word)))
      continue; // a folder with nothing but recipes
    llvm::Expected<EvidenceSet> source = readLog(logNamed(word), bad);
    if (!source)
      return source.takeError();
    sources.merge(*source);
  }
  report(bad);
  std::vector<Evidence> attempts;
  std::vector<Finding> findings;
  for (const auto &[id, record] : sources.records())
    if (!target->contains(id))
      attempts.push_back(record);
  for (const auto &[id, finding] : sources.findings())
    if (!target->contains(id))
      findings.push_back(finding);
  const bool isDatabase = kbrt::isDatabaseUrl(path);
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (!isDatabase && !folder.empty())
    if (llvm::Error error = realFileSystem().createDirectories(folder))
      return std::move(error);
  if (llvm::Error error = appendEvidence(realFileSystem(), path, attempts, findings))
    return std::move(error);
  std::vector<std::string> folders;
  for (const std::string &word : llvm::drop_begin(arguments.words))
    if (llvm::sys::fs::is_directory(word))
      folders.push_back(word);
  // A database has evidence alone.
  llvm::Expected<size_t> recipes =
      isDatabase ? size_t(0) : mergeRecipes(folder.empty() ? "." : folder, folders);
  if (!recipes)
    return recipes.takeError();
  size_t added = attempts.size() + findings.size();
  return writeResult(path + ": " + std::to_string(added) + " records added, " +
                     std::to_string(target->size() + added) + " now\n" +
                     (*recipes ? counted(*recipes, "recipe") + " added\n" : ""));
}

llvm::Expected<ExitStatus> kbopt::runVerify(const Arguments &arguments) {
  std::vector<std::string> chips = builtinChips();
  for (const std::string &chip : chips)
    if (llvm::Expected<ChipInfo> loaded = loadChip(chip); !loaded)
      return loaded.takeError();
  size_t optimizations = Catalogue::builtin().optimizations().size();
  (void)StateRules::builtin();
  EvidenceSet all;
  std::vector<BadLine> bad;
  // Without logs of one's own there is nothing wrong with them.
  std::vector<std::string> paths;
  for (const std::string &word : arguments.words)
    paths.push_back(logNamed(word));
  if (paths.empty() && realFileSystem().exists(logNamed("")))
    paths.push_back(logNamed(""));
  for (const std::string &path : paths) {
    llvm::Expected<EvidenceSet> set = readLog(path, bad);
    if (!set)
      return set.takeError();
    all.merge(*set);
  }
  report(bad);
  std::map<FindingKind, size_t> kinds;
  json::Array dangling, badLines;
  for (const auto &[id, finding] : all.findings()) {
    ++kinds[finding.kind];
    if (finding.evidence.empty() || llvm::any_of(finding.evidence, [&](const Digest &attempt) {
          return all.records().count(attempt);
        }))
      continue;
    dangling.push_back(id);
    llvm::errs() << "kb-knowledge: note: " << findingKindName(finding.kind) << " " << id
                 << " rests on attempts that are in none of these logs\n";
  }
  for (const BadLine &line : bad)
    badLines.push_back(
        json::Object{{"file", line.file}, {"line", line.line}, {"reason", line.reason}});
  ExitStatus verdict = bad.empty() ? ExitStatus::Success : ExitStatus::Diagnostics;
  llvm::Expected<ExitStatus> written = ExitStatus::Success;
  if (arguments.json) {
    written = writeJson(json::Object{{"optimizations", optimizations},
                                     {"devices", chips.size()},
                                     {"attempts", all.records().size()},
                                     {"lessons", kinds[FindingKind::Lesson]},
                                     {"states", kinds[FindingKind::State]},
                                     {"proposals", kinds[FindingKind::Proposal]},
                                     {"withoutEvidence", std::move(dangling)},
                                     {"badLines", std::move(badLines)}});
  } else {
    std::string text = counted(optimizations, "optimization") + ", " +
                       counted(chips.size(), "device") + ", " + counted(all.size(), "record");
    if (!all.findings().empty())
      text += " (" + counted(kinds[FindingKind::Lesson], "lesson") + ", " +
              counted(kinds[FindingKind::State], "state") + ", " +
              counted(kinds[FindingKind::Proposal], "proposal") + ")";
    written = writeResult(text + ", " + counted(bad.size(), "bad line") + "\n");
  }
  if (!written)
    return written.takeError();
  return verdict;
}

llvm::Expected<ExitStatus> kbopt::runExport(const Arguments &arguments) {
  llvm::Expected<EvidenceSet> all = readLogs(arguments.words);
  if (!all)
    return all.takeError();
  return writeResult(exportTrajectories(*all, arguments.only != "steps", arguments.only != "pairs"),
                     arguments.output);
}

/// Puts \p text in place of \p path, which held \p old when it was read.
static llvm::Error replaceLog(const std::string &path, const std::string &old,
                              const std::string &text) {
  FileSystem &files = realFileSystem();
  if (llvm::Error error = files.write(path + ".bak", old))
    return error;
  llvm::Expected<std::string> now = files.read(path);
  if (!now)
    return now.takeError();
  if (*now != old)
    return llvm::make_error<StoreError>("'" + path + "' was written to meanwhile",
                                        "it is as it was; run the same command again");
  return files.write(path, text);
}

llvm::Expected<ExitStatus> kbopt::runPrune(const Arguments &arguments) {
  std::string path = logNamed(arguments.words.empty() ? "" : arguments.words[0]);
  std::vector<BadLine> bad;
  if (llvm::Expected<EvidenceSet> set = readLog(path, bad); !set)
    return set.takeError();
  report(bad);
  llvm::Expected<std::string> old = realFileSystem().read(path);
  if (!old)
    return old.takeError();
  llvm::Expected<PrunedLog> pruned = pruneLog(*old, path);
  if (!pruned)
    return pruned.takeError();
  size_t gone = pruned->attempts + pruned->doubled;
  bool replace = gone && !arguments.dryRun;
  if (replace)
    if (llvm::Error error = replaceLog(path, *old, pruned->text))
      return std::move(error);
  if (arguments.json)
    return writeJson(json::Object{{"log", path},
                                  {"replaced", replace},
                                  {"repeatedExperiments", pruned->attempts},
                                  {"doubledRecords", pruned->doubled},
                                  {"kept", pruned->kept},
                                  {"badLinesKept", pruned->unreadable}});
  std::string text = path + ": ";
  if (!gone)
    return writeResult(text + "nothing to drop, " + counted(pruned->kept, "record") + "\n");
  text += counted(pruned->attempts, "repeated experiment") + " and " +
          counted(pruned->doubled, "doubled record") + (replace ? " dropped, " : " to drop, ") +
          counted(pruned->kept, "record") +
          (replace ? " now; the old log is " + path + ".bak" : " would stay");
  return writeResult(text + "\n");
}
