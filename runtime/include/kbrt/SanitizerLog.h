//===- SanitizerLog.h - what compute-sanitizer prints ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of compute-sanitizer's log, of the versions since CUDA 11.6.
// Pure: runs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_SANITIZERLOG_H
#define KBRT_SANITIZERLOG_H

#include <string>
#include <string_view>
#include <vector>

namespace kbrt {

/// One defect; the same one by other threads is counted.
struct SanitizerFinding {
  std::string tool;   ///< "memcheck"
  std::string kernel; ///< as printed: mangled if the tool ran with --demangle no
  std::string file;   ///< empty without a line table
  unsigned line = 0;
  std::string text; ///< the report in one line
  unsigned count = 1;
};

struct SanitizerLog {
  std::vector<SanitizerFinding> findings;
  /// Why the tool itself could not work; empty if it did.
  std::string trouble;
};

/// Reads the log of one run of \p tool.
SanitizerLog readSanitizerLog(const std::string &tool, std::string_view log);

} // namespace kbrt

#endif // KBRT_SANITIZERLOG_H
