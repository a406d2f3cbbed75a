//===- Verbs.h - What kb-knowledge does ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the verbs and what they share: reading logs and writing results.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TOOLS_KBKNOWLEDGE_VERBS_H
#define KBOPT_TOOLS_KBKNOWLEDGE_VERBS_H

#include "CommandLine.h"
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "llvm/Support/JSON.h"

namespace kbopt {

llvm::Expected<ExitStatus> runShow(const Arguments &);
llvm::Expected<ExitStatus> runExplain(const Arguments &);
llvm::Expected<ExitStatus> runTransfer(const Arguments &);
llvm::Expected<ExitStatus> runFold(const Arguments &);
llvm::Expected<ExitStatus> runDiff(const Arguments &);
llvm::Expected<ExitStatus> runMerge(const Arguments &);
llvm::Expected<ExitStatus> runImport(const Arguments &);
llvm::Expected<ExitStatus> runSchedules(const Arguments &);
llvm::Expected<ExitStatus> runVerify(const Arguments &);
llvm::Expected<ExitStatus> runExport(const Arguments &);
llvm::Expected<ExitStatus> runPrune(const Arguments &);

/// `kb-opt recipes` with the words behind the verb; does not return unless there is no kb-opt.
int runRecipes(int argc, char **argv);
/// Adds to the recipes of \p target, a folder of knowledge, those of \p sources whose examples it
/// does not have; one whose name is taken gets a number. Returns how many.
llvm::Expected<size_t> mergeRecipes(llvm::StringRef target, llvm::ArrayRef<std::string> sources);

/// Names every bad line on stderr.
void report(llvm::ArrayRef<BadLine> bad);
/// \p word, or evidence.jsonl in it where it is a folder; the user's own where
/// \p word is empty.
std::string logNamed(llvm::StringRef word);
/// The records of \p path, which must exist.
llvm::Expected<EvidenceSet> readLog(const std::string &path, std::vector<BadLine> &bad);
/// All logs that \p words name, or the user's own; bad lines are reported.
llvm::Expected<EvidenceSet> readLogs(llvm::ArrayRef<std::string> words);

/// Writes \p text to \p path, whole or not at all; to stdout where it is empty.
llvm::Expected<ExitStatus> writeResult(llvm::StringRef text, llvm::StringRef path = "");
/// The same of JSON, indented.
llvm::Expected<ExitStatus> writeJson(llvm::json::Value value);

/// "12.3 %" of a logarithmic gain.
std::string percent(double logGain);
/// "4 attempts", "1 attempt".
std::string counted(size_t number, llvm::StringRef what);

} // namespace kbopt

#endif // KBOPT_TOOLS_KBKNOWLEDGE_VERBS_H
