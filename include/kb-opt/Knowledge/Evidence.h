//===- Evidence.h - One thing that was tried --------------------*- C++ -*-===//
//
// Owns the evidence record, its line of JSON, and the append-only log. What is
// concluded from many records is Fold.h's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_EVIDENCE_H
#define KBOPT_KNOWLEDGE_EVIDENCE_H

#include "kb-opt/Support/Digest.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// How an attempt ended.
enum class AttemptVerdict {
  Correct,      ///< every gate passed, and a time was taken
  Incorrect,    ///< a gate failed: `gate`, `failure`, `reason`
  Inconclusive, ///< could not be decided; the baseline stays
  NotApplied,   ///< the pass found nothing to do here
};
llvm::StringRef verdictName(AttemptVerdict verdict);
std::optional<AttemptVerdict> verdictFromName(llvm::StringRef name);

/// Immutable once written. Gains are natural logarithms of time before over
/// time after: positive is faster.
struct Evidence {
  std::string primary, secondary;    ///< the state before
  std::vector<std::string> features; ///< code features, sorted
  std::string shape;                 ///< kernel class: elementwise, reduction, …
  std::string pass;
  std::map<std::string, std::string> parameters;
  std::string predecessor; ///< pass before it in the same pipeline; empty: none
  std::string chip;
  std::string device; ///< "cpu-modelled" or "cuda"
  AttemptVerdict verdict = AttemptVerdict::Correct;
  std::string gate;    ///< G0 to G15, where a gate failed
  std::string failure; ///< compile, runtime, correctness, timeout, constraints
  std::string reason;  ///< in words, one line
  std::optional<double> predictedGain;
  std::optional<double> achievedGain; ///< this step's own; only where correct
  /// The step's own gain and the discounted gains that followed it in its
  /// pipeline.
  std::optional<double> creditGain;
  Digest program;                              ///< of the original program and workload
  Digest before, after;                        ///< machine code and plan before and after
  std::map<std::string, std::string> versions; ///< kb-opt, llvm, cuda
  std::string time;                            ///< UTC, RFC 3339; no part of the name

  /// Digest of everything but `time`: a run that is killed and started again
  /// names its records as it did the first time.
  Digest id() const;
  /// What was observed, without what was expected: two records of a
  /// deterministic device that agree in this are one observation.
  Digest experiment() const;
  /// One line of JSON with sorted keys.
  std::string toLine() const;
};

/// A missing, mistyped or unknown field, a newer version, or an `id` that does
/// not match the content is a `StoreError` that names it.
llvm::Expected<Evidence> parseEvidence(llvm::StringRef line);

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
  void merge(const EvidenceSet &other);
  const std::map<Digest, Evidence> &records() const { return byId; }
  size_t size() const { return byId.size(); }

private:
  std::map<Digest, Evidence> byId;
};

/// Reads a log. Bad lines are reported in \p bad and skipped; an absent file
/// is an empty set; a file that cannot be read is a `StoreError`.
llvm::Expected<EvidenceSet> readEvidence(FileSystem &fileSystem, llvm::StringRef path,
                                         std::vector<BadLine> &bad);
/// The same of text; \p path is for \p bad.
EvidenceSet parseEvidenceLog(llvm::StringRef text, llvm::StringRef path, std::vector<BadLine> &bad);
/// Appends one line per record, all in one write under a lock, so that a full
/// disk leaves the log as it was; the folder must exist.
llvm::Error appendEvidence(FileSystem &fileSystem, llvm::StringRef path,
                           llvm::ArrayRef<Evidence> records);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_EVIDENCE_H
