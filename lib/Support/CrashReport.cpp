//===- CrashReport.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/CrashReport.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/Signals.h"
#include <unistd.h>

using namespace kbopt;

/// Runs last, behind the printing of the stack.
static void endProcess(void *) {
  static constexpr char text[] = "note: this is a bug: report the lines above to the maintainers "
                                 "(README.md, \"When kb-opt crashes\") "
                                 "with the program, or with a smaller one that crashes as well\n";
  [[maybe_unused]] auto written = write(STDERR_FILENO, text, sizeof text - 1);
  _exit(static_cast<int>(ExitStatus::Internal));
}

CrashReport::CrashReport(int argc, const char *const *argv) : command(argc, argv) {
  llvm::setBugReportMsg("kb-opt: error: it crashed\n");
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  llvm::sys::AddSignalHandler(endProcess, nullptr);
}
