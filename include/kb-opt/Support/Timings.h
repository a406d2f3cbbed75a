//===- Timings.h - Where the time goes --------------------------*- C++ -*-===//
//
// Owns seconds by name, for --time-passes: what runs says for how long, one
// table shows it. Parts may contain each other and may overlap; a group of
// parts is one view of the same time. MLIR times the passes themselves.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_TIMINGS_H
#define KBOPT_SUPPORT_TIMINGS_H

#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
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

private:
  struct Entry {
    double seconds = 0;
    unsigned count = 0;
  };
  mutable std::mutex mutex;
  std::map<std::string, std::map<std::string, Entry>> groups;
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
