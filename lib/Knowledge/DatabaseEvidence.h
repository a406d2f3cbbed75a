//===- DatabaseEvidence.h - Evidence in a database --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the records of a log as rows of a PostgreSQL database (docs/Cluster.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_KNOWLEDGE_DATABASEEVIDENCE_H
#define KBOPT_LIB_KNOWLEDGE_DATABASEEVIDENCE_H

#include "kb-opt/Knowledge/EvidenceLog.h"

namespace kbopt {

/// As `readEvidence` and `appendEvidence`; \p url is the address of a database. Of two records with
/// one id the earlier stays.
llvm::Expected<EvidenceSet> readDatabaseEvidence(llvm::StringRef url, std::vector<BadLine> &bad);
llvm::Error appendDatabaseEvidence(llvm::StringRef url, llvm::ArrayRef<Evidence> records,
                                   llvm::ArrayRef<Finding> findings);

} // namespace kbopt

#endif // KBOPT_LIB_KNOWLEDGE_DATABASEEVIDENCE_H
