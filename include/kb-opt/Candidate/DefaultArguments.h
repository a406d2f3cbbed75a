//===- DefaultArguments.h - What main takes for missing arguments -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which numbers the `main` of a program takes in place of arguments that it is not given, as
// its source says. Runs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_DEFAULTARGUMENTS_H
#define KBOPT_CANDIDATE_DEFAULTARGUMENTS_H

#include "kb-opt/Plan/Workload.h"
#include "kb-opt/Source/ParsedProgram.h"

namespace kbopt {

/// The arguments with which \p program does what it does without any: of
/// `argc > 1 ? atoi(argv[1]) : 512`, and of `int n = 512; if (argc > 1) n = atoi(argv[1]);`, 512.
/// Up to the first argument of which the source does not tell a number.
std::vector<DefaultArgument> defaultArguments(const ParsedProgram &program);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_DEFAULTARGUMENTS_H
