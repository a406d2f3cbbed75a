//===- FailingCase.h - The test case that a candidate failed ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a debugger is told of the inputs on which a candidate was wrong.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_FAILINGCASE_H
#define KBOPT_LIB_CANDIDATE_FAILINGCASE_H

#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Plan/RecordedPlan.h"

namespace kbopt {

/// The one of \p cases that \p words name as "case NAME", of several the longest name; null if
/// none.
const TestCase *caseNamedIn(llvm::StringRef words, llvm::ArrayRef<TestCase> cases);

/// What the host of \p recorded hands to the device, a line each: of the first uploads type, size,
/// range and first values, of the first launches grid, block and arguments.
std::vector<std::string> describeInputs(const RecordedPlan &recorded);

/// Each way in which \p plan launches a kernel, the first ones: "k<<<(64, 1, 1), (256, 1, 1)>>>, 3
/// times, 4096 bytes of shared memory".
std::vector<std::string> describeLaunches(const kbrt::Plan &plan);

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_FAILINGCASE_H
