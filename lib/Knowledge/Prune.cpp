//===- Prune.cpp ----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/Prune.h"
#include "kb-opt/Knowledge/Fold.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;

llvm::Expected<PrunedLog> kbopt::pruneLog(llvm::StringRef text, llvm::StringRef path) {
  std::vector<BadLine> bad;
  EvidenceSet before = parseEvidenceLog(text, path, bad);
  std::set<Digest> restedOn;
  for (const auto &[id, finding] : before.findings())
    restedOn.insert(finding.evidence.begin(), finding.evidence.end());
  std::map<Digest, Digest> standsFor = experimentsOf(before);

  PrunedLog result;
  std::set<Digest> seen;
  for (llvm::StringRef rest = text; !rest.empty();) {
    auto [line, after] = rest.split('\n');
    rest = after;
    if (line.trim().empty())
      continue;
    llvm::Expected<Record> record = parseRecord(line);
    if (!record) {
      llvm::consumeError(record.takeError());
      ++result.unreadable;
      result.text += line.str() + "\n";
      continue;
    }
    auto [id, time] =
        std::visit([](const auto &one) { return std::pair(one.id(), one.time); }, *record);
    auto attempt = before.records().find(id);
    bool isAttempt = attempt != before.records().end();
    // Of two with one id the set has the earlier.
    const std::string &earliest = isAttempt ? attempt->second.time : before.findings().at(id).time;
    if (time != earliest || !seen.insert(id).second) {
      ++result.doubled;
      continue;
    }
    if (isAttempt && standsFor.at(id) != id && !restedOn.count(id)) {
      ++result.attempts;
      continue;
    }
    ++result.kept;
    result.text += line.str() + "\n";
  }
  bad.clear();
  EvidenceSet after = parseEvidenceLog(result.text, path, bad);
  if (toJson(foldEvidence(before), /*everything=*/true) !=
      toJson(foldEvidence(after), /*everything=*/true))
    return llvm::make_error<KbError>("pruning '" + path.str() + "' would change what is known",
                                     "the log is as it was; please report this",
                                     ExitStatus::Internal);
  return result;
}
