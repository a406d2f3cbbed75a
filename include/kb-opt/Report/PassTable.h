//===- PassTable.h - The text of --list-passes ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the table of passes that a terminal shows.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REPORT_PASSTABLE_H
#define KBOPT_REPORT_PASSTABLE_H

#include "kb-opt/Core/PassInfo.h"
#include "llvm/Support/raw_ostream.h"

namespace kbopt {

/// One paragraph per pass: name, promise, summary, then its options with type,
/// default and tuning values.
void writePassTable(llvm::raw_ostream &os, llvm::ArrayRef<const PassInfo *> passes);

} // namespace kbopt

#endif // KBOPT_REPORT_PASSTABLE_H
