//===- EvidenceLog.h - Sets of records and their files ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the set of everything that was tried and concluded, and the append-only
// log that holds it: one record per line.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_EVIDENCELOG_H
#define KBOPT_KNOWLEDGE_EVIDENCELOG_H

#include "kb-opt/Knowledge/Evidence.h"
#include "kb-opt/Knowledge/Finding.h"
#include "kb-opt/Support/FileSystem.h"
#include <variant>

namespace kbopt {

/// A line of a log.
using Record = std::variant<Evidence, Finding>;
/// What `parseEvidence` or `parseFinding` make of it, by its field `kind`.
llvm::Expected<Record> parseRecord(llvm::StringRef line);

/// A line of a log that is no record. It stays in the file.
struct BadLine {
  std::string file;
  unsigned line = 0; ///< from 1
  std::string reason;
};

/// A set of records by id.
class EvidenceSet {
public:
  /// Of two records with one id the earlier stays, so that union does not depend
  /// on order.
  void insert(Evidence record);
  void insert(Finding finding);
  void insert(Record record);
  void merge(const EvidenceSet &other);
  /// The attempts.
  const std::map<Digest, Evidence> &records() const { return attempts; }
  const std::map<Digest, Finding> &findings() const { return concluded; }
  bool contains(const Digest &id) const { return attempts.count(id) || concluded.count(id); }
  size_t size() const { return attempts.size() + concluded.size(); }

private:
  std::map<Digest, Evidence> attempts;
  std::map<Digest, Finding> concluded;
};

/// Reads a log, or the database that \p path is the address of. Bad lines are reported in \p bad
/// and skipped; an absent file is an empty set; a file that cannot be read is a `StoreError`.
llvm::Expected<EvidenceSet> readEvidence(FileSystem &fileSystem, llvm::StringRef path,
                                         std::vector<BadLine> &bad);
/// The same of text; \p path is for \p bad.
EvidenceSet parseEvidenceLog(llvm::StringRef text, llvm::StringRef path, std::vector<BadLine> &bad);
/// Appends one line per record, all in one write under a lock, so that a full
/// disk leaves the log as it was; the folder must exist. A finding whose `check`
/// fails is its error, and nothing is written. A database keeps of two records with one id the
/// earlier.
llvm::Error appendEvidence(FileSystem &fileSystem, llvm::StringRef path,
                           llvm::ArrayRef<Evidence> records, llvm::ArrayRef<Finding> findings = {});

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_EVIDENCELOG_H
