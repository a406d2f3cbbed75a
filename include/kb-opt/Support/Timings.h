//===- Timings.h - Where the time goes --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns seconds by name, for --time-passes and --time-trace: what runs says for
// how long, one table shows it, or a trace of what ran beside what. Parts may
// contain each other and may overlap; a group of parts is one view of the same
// time. MLIR times the passes themselves.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_TIMINGS_H
#define KBOPT_SUPPORT_TIMINGS_H

#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <map>
#include <mutex>

namespace kbopt {

/// Thread-safe.
class Timings {
public:
  /// One more occurrence of \p part in \p group ("gates", "G4 memory and races").
  void add(llvm::StringRef group, llvm::StringRef part, double seconds);
  /// One table per group, longest part first; \p wallSeconds is the whole run.
  void print(llvm::raw_ostream &os, double wallSeconds) const;
  /// From now on every part is kept with its time and thread, for `trace`.
  void keepSpans() { keepsSpans = true; }
  /// Every part since `keepSpans` in the Trace Event Format, which Perfetto and chrome://tracing
  /// show: one row per thread. A part that was added when it had ended is taken to have ended then.
  std::string trace() const;

private:
  struct Span {
    std::string group, part;
    double begin = 0, seconds = 0;
    uint64_t thread = 0;
  };
  struct Entry {
    double seconds = 0;
    unsigned count = 0;
  };
  mutable std::mutex mutex;
  std::map<std::string, std::map<std::string, Entry>> groups;
  std::atomic<bool> keepsSpans = false;
  double start = realClock().monotonicSeconds();
  std::vector<Span> spans;
};

/// Adds the time until its end to a part; no effect without timings.
class TimedPart {
public:
  TimedPart(Timings *timings, std::string group, std::string part)
      : timings(timings), group(std::move(group)), part(std::move(part)),
        begin(timings ? realClock().monotonicSeconds() : 0) {}
  ~TimedPart() {
    if (timings)
      timings->add(group, part, realClock().monotonicSeconds() - begin);
  }
  TimedPart(const TimedPart &) = delete;
  TimedPart &operator=(const TimedPart &) = delete;

private:
  Timings *timings;
  std::string group, part;
  double begin;
};

/// Runs processes through another runner and adds their wall time, by purpose, to
/// the group "processes".
class TimedProcessRunner : public ProcessRunner {
public:
  TimedProcessRunner(ProcessRunner &runner, Timings &timings) : runner(runner), timings(timings) {}
  llvm::Expected<ProcessResult> run(const ProcessRequest &request) override;

private:
  ProcessRunner &runner;
  Timings &timings;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_TIMINGS_H
