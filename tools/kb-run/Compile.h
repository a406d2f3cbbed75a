//===- Compile.h - kb-run compile -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the verb that turns a request for NVRTC into files (docs/JobFormat.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_COMPILE_H
#define KBRUN_COMPILE_H

#include "Run.h"
#include <string>

namespace kbrun {

/// Reads the request at \p path; returns kb-run's exit status. 1: the program does not compile, and
/// the compiler's words are on standard error.
int compile(const std::string &path);

/// Whether \p job is one that a server compiles (docs/JobFormat.md).
bool isCompileJob(const std::string &job);
/// Answers it: a request for NVRTC by machine code and PTX, null by the version of NVRTC. The
/// compiler runs in a process of its own.
Outcome compileJob(const std::string &job);

} // namespace kbrun

#endif // KBRUN_COMPILE_H
