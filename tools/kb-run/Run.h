//===- Run.h - one job in its own process -----------------------*- C++ -*-===//
//
// Owns the execution of a job and its result file, in the child process.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_RUN_H
#define KBRUN_RUN_H

#include "Job.h"

namespace kbrun {

/// Exit statuses of kb-run.
enum ExitStatus {
  exitOk = 0,          ///< the plan ran, nothing was found
  exitDiagnostics = 1, ///< the plan ended otherwise, or there are findings
  exitUsage = 2,       ///< the command line or the job file is wrong
  exitEnvironment = 3, ///< an input cannot be read or an output not written
  exitInternal = 70,
};

/// What the parent learns of a child that dies. Lies in memory that both share.
struct Progress {
  volatile uint32_t repetition = 0;
  volatile uint64_t step = 0;
  char kernel[256] = {}; ///< of the launch step that runs, else empty
};

/// Runs \p job and writes its result. Messages go to stderr.
ExitStatus runJob(const Job &job, Progress &progress);

/// The result of a job whose process died: status "crash" or "timeout".
std::string crashResult(const Progress &progress, const std::string &status,
                        const std::string &message);

} // namespace kbrun
#endif
