//===- WrittenFiles.h - Files that a program writes -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_EVAL_GATES_WRITTENFILES_H
#define KBOPT_LIB_EVAL_GATES_WRITTENFILES_H

#include "kb-opt/Eval/Judge.h"

namespace kbopt {

/// How \p files, which a candidate wrote, differ from those of \p originals; nothing if they do
/// not. Names and bytes that differ between the original's runs are not compared. Unless \p exact,
/// numbers in them may move as printed ones do, and as far as those of \p moved, the original under
/// other roundings.
std::optional<GateRecord> compareFiles(llvm::ArrayRef<const CaseSource::WholeRun *> originals,
                                       llvm::ArrayRef<const CaseSource::WholeRun *> moved,
                                       const std::map<std::string, std::string> &files, bool exact);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_GATES_WRITTENFILES_H
