//===- FileRules.h - Rules on a file that no pass made ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a whole file, judged against an original, may not bring along: ways to know which
// compiler reads it, when, where and on what it runs, and ways around the recorder. Files have no
// anchors, so that these rules are wider than those on replies (EditRules.h).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_ASSISTED_FILERULES_H
#define KBOPT_REWRITE_ASSISTED_FILERULES_H

#include "kb-opt/Source/ParsedProgram.h"

namespace kbopt {

/// What the text of \p original does not use and \p candidate must not, in words that begin with
/// the rule's name, in source order. \p isCalled: the program is a function that its caller may
/// call again, so that it may keep nothing from call to call.
std::vector<std::string> newBreaches(llvm::StringRef original, const ParsedProgram &candidate,
                                     bool isCalled);

} // namespace kbopt

#endif // KBOPT_REWRITE_ASSISTED_FILERULES_H
