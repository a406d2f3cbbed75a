//===- KeptGates.h - Answers of gates that outlive a run --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the text in which a GateStore keeps what one gate found, and what is known of the original.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_KEPTGATES_H
#define KBOPT_LIB_EVAL_KEPTGATES_H

#include "JudgeImpl.h"

namespace kbopt {

/// The record that an earlier run kept for \p gate, with what it left in \p context; nothing where
/// none did, or looked at fewer cases. A null \p store keeps nothing.
std::optional<GateRecord> keptGate(GateStore *store, GateId gate, GateContext &context);
/// Keeps \p record, if it is an answer: what did not run, or was not decided, may be another time.
void keepGate(GateStore *store, const GateRecord &record, const GateContext &context);

/// What an earlier run kept of the original, without its code; nothing where none did, or where a
/// case is not in \p cases any more.
std::optional<BaselineReport> keptBaseline(GateStore *store, llvm::ArrayRef<TestCase> cases);
void keepBaseline(GateStore *store, const BaselineReport &report);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_KEPTGATES_H
