//===- ScreenJson.h - Jobs and answers of kb-run hold ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the codec between lib/Screen's records and the lines of `kb-run hold`
// (docs/JobFormat.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCREEN_SCREENJSON_H
#define KBOPT_LIB_SCREEN_SCREENJSON_H

#include "kb-opt/Screen/ScreenDevice.h"
#include "kb-opt/Support/Timings.h"

namespace kbopt {

/// One line, without its newline. \p op: "open" or "screen".
std::string screenJob(llvm::StringRef op, llvm::StringRef program, const ScreenSubject &subject,
                      const ScreenRequest &request);

/// The report in \p line. Errors: what it says is the machine's fault, or it is no answer
/// (`ToolError`). Seconds of its parts go to \p timings.
llvm::Expected<ScreenReport> readScreenReport(llvm::StringRef line, llvm::StringRef op,
                                              Timings *timings);

} // namespace kbopt

#endif // KBOPT_LIB_SCREEN_SCREENJSON_H
