//===- CaseKeys.h - Where cases lie and what their runs are called -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the names under which the runs of hosts are kept, and of files in their folders.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_CASEKEYS_H
#define KBOPT_LIB_CANDIDATE_CASEKEYS_H

#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Plan/Workload.h"
#include "llvm/Support/Path.h"

namespace kbopt {

inline std::string joinPath(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// What a program does with its last results, such as computing them again, hands nothing over.
inline constexpr double quietSeconds = 0.5;

/// Runs that follow one another differ in the clock behind events.
inline constexpr unsigned clockPaces = 5;

/// A function's driver says at its end what the function returned.
inline double quietOf(const Workload &workload) {
  return workload.kind == WorkloadKind::Program ? quietSeconds : 0;
}

/// Of the recording of a fed host that may be ended when it is quiet.
inline std::string quietKey(const ProgramArtefacts &program, llvm::StringRef test) {
  return ("fed " + digestOf(program.text) + " " + test + " quiet").str();
}

/// Of one that runs to its end.
inline std::string wholeKey(const ProgramArtefacts &program, llvm::StringRef test) {
  return ("fed " + digestOf(program.text) + " " + test).str();
}

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_CASEKEYS_H
