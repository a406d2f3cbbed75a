//===- Hold.h - kb-run as a vault --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the lines of `kb-run hold` (docs/JobFormat.md). What is done for them is Vault.h's.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_HOLD_H
#define KBRUN_HOLD_H

namespace kbrun {

/// Answers the jobs on standard input, one a line, until it ends. Returns an exit status.
int hold();

} // namespace kbrun
#endif
