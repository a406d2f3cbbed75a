//===- RemarkYaml.h - Remarks as LLVM writes them ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the rendering of remarks for files (LLVM's YAML remark format, as read
// by opt-viewer and llvm-remarkutil) and for terminals.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REPORT_REMARKYAML_H
#define KBOPT_REPORT_REMARKYAML_H

#include "kb-opt/Core/Remark.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace kbopt {

/// Writes \p remarks as a sequence of LLVM YAML remarks in the given order.
void writeRemarksYaml(llvm::raw_ostream &os, llvm::ArrayRef<Remark> remarks);

/// `file:line:column: remark: message [pass]`, one line.
std::string formatRemark(const Remark &remark);

} // namespace kbopt

#endif // KBOPT_REPORT_REMARKYAML_H
