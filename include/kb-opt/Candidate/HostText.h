//===- HostText.h - What a program's host side depends on -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_CANDIDATE_HOSTTEXT_H
#define KBOPT_CANDIDATE_HOSTTEXT_H

#include "kb-opt/Source/ParsedProgram.h"

namespace kbopt {

/// The main file without the bodies of functions that run on the device alone.
/// Two programs under one command with equal host texts behave alike up to
/// what their kernels compute, so that the plan of one stands for the other.
std::string hostText(const ParsedProgram &program);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_HOSTTEXT_H
