//===- OtherResults.h - What a host would read elsewhere --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the results that a host is fed in the place of the recorded ones. Private to lib/Candidate.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_OTHERRESULTS_H
#define KBOPT_LIB_CANDIDATE_OTHERRESULTS_H

#include "kb-opt/Support/FileSystem.h"

namespace kbopt {

/// What results are multiplied by, each by another factor.
struct ResultFactors {
  double least, most;
};

/// Tried in this order until the original's host goes its way: one that repeats steps until a
/// result is small enough stands near ones only.
inline constexpr ResultFactors allResultFactors[] = {{0.5, 2}, {1.004, 1.012}};

/// Writes the results in \p recording to \p folder, for a host that is fed them: floating-point
/// numbers that are read before the host hands something over are multiplied by \p factors and put
/// in another order, so that what was small is large. False, and nothing is written, where the host
/// reads none before.
llvm::Expected<bool> writeOtherResults(FileSystem &files, const std::string &recording,
                                       ResultFactors factors, const std::string &folder);

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_OTHERRESULTS_H
