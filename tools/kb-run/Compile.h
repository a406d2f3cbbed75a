//===- Compile.h - kb-run compile -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the verb that turns a request for NVRTC into files (docs/JobFormat.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_COMPILE_H
#define KBRUN_COMPILE_H

#include <string>

namespace kbrun {

/// Reads the request at \p path; returns kb-run's exit status. 1: the program does not compile, and
/// the compiler's words are on standard error.
int compile(const std::string &path);

} // namespace kbrun

#endif // KBRUN_COMPILE_H
