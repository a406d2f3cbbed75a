//===- Serve.h - kb-run as a server ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the two ways of getting jobs other than as a file: a pipe and a spool
// folder (docs/JobFormat.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_SERVE_H
#define KBRUN_SERVE_H

#include <cstdint>
#include <string>

namespace kbrun {

/// Answers the jobs on standard input, one a line, until it ends. Returns an exit status.
int servePipe();
/// Answers the jobs of a spool folder; with \p once until none is left. Files that were sent are
/// kept for the next jobs, up to \p mostBlobBytes.
int serveSpool(const std::string &folder, bool once, uint64_t mostBlobBytes);
/// Prints the CUDA device's facts, or why there is none (status 3).
int showDevices();

} // namespace kbrun
#endif
