//===- JobChannel.h - Ways to a kb-run ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a job (docs/JobFormat.md) and its files get to a kb-run and the result
// back: through a pipe to a server on this machine, or through a spool folder
// that servers elsewhere read. What a job asks is the device's business.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_JOBCHANNEL_H
#define KBOPT_EVAL_JOBCHANNEL_H

#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Process.h"
#include "kb-opt/Support/SharedBytes.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// What travels with a job: an image, and the folder of a recording, of which
/// plan.json and data.bin are sent and nothing else. Both empty: the job asks
/// what device there is.
struct JobSubject {
  std::string image, planFolder;
};

struct JobRequest {
  llvm::json::Object fields; ///< of the job, without what follows
  JobSubject subject;
  std::optional<JobSubject> baseline; ///< of `timing`
  bool wantsOutputs = false;
  /// The server gives up by itself before that; 0: no limit.
  double limitSeconds = 0;
};

struct JobAnswer {
  llvm::json::Object result;
  std::string observables; ///< where they were wanted and are there
  /// The same where the job has `contents`: the bytes that were not known, by digest.
  std::map<std::string, SharedBytes> contents;
};

/// Thread-safe.
class JobChannel {
public:
  virtual ~JobChannel();
  /// A result, also for a job that took its server down: status "crash" or
  /// "timeout", and words. Errors: no server can be asked (`ToolError`), files cannot
  /// be read or written (`StoreError`), the user interrupts.
  virtual llvm::Expected<JobAnswer> run(const JobRequest &request) = 0;
  /// Whether jobs may have `contents`: the server writes files where this machine reads
  /// them.
  virtual bool takesContents() const { return false; }
};

/// Receives a sentence for the user, from any thread.
using NoticeFunction = std::function<void(const std::string &)>;

struct ProcessChannelOptions {
  std::string directory; ///< private to the channel; created if missing
  std::string kbRun;     ///< empty: found beside this executable or in PATH
  bool sandboxed = true;
  bool seesGpus = true; ///< with what a GPU's jobs need beside it
  std::string card; ///< the one GPU that it sees, as CUDA_VISIBLE_DEVICES names it; empty: as here
  uint64_t memoryBytes = 0; ///< address space of each process; 0: no limit
  uint64_t mostResultBytes = uint64_t(64) << 20;
  /// Servers that a job may take down before it is answered with "crash".
  unsigned attempts = 2;
  /// Beside `JobRequest::limitSeconds`, after which a server counts as hung.
  double graceSeconds = 60;
  NoticeFunction notice;
};

/// Sets `kbRun` where it is empty. A `ToolError` if there is none, a `StoreError` if there can be
/// no such directory.
llvm::Error findKbRunFor(ProcessChannelOptions &options);
/// A process of that kb-run with the arguments \p words, in its sandbox: it reads `directory` and
/// writes to its folder "out", and takes turns with others on this machine.
ProcessRequest kbRunRequest(const ProcessChannelOptions &options, std::vector<std::string> words);
/// Links \p from to \p to, or copies it where links cannot reach.
llvm::Error linkOrCopy(const std::string &from, const std::string &to);

/// One `kb-run serve -`, started when first needed and again when it dies. Jobs
/// wait for each other. Fails with a `ToolError` if there is no kb-run.
llvm::Expected<std::unique_ptr<JobChannel>> createProcessChannel(ProcessChannelOptions options);

/// Jobs that read counters go to \p counting, whose processes do nothing else. Every other job
/// goes, in the order of asking, to a channel of \p cards that does nothing: to the one that did
/// its session's last job, or to one of the GPU with the fewest jobs. Each GPU has channels of its
/// own; none may be empty.
std::unique_ptr<JobChannel>
createParallelChannel(std::vector<std::vector<std::unique_ptr<JobChannel>>> cards,
                      std::unique_ptr<JobChannel> counting);

struct SpoolChannelOptions {
  std::string directory;      ///< must exist
  double noticeSeconds = 10;  ///< without a server the user is told
  double giveUpSeconds = 600; ///< and after that the job is left there
  NoticeFunction notice;
};

/// Jobs are named by their content: a process that asks again after being killed finds the
/// answer there.
llvm::Expected<std::unique_ptr<JobChannel>> createSpoolChannel(SpoolChannelOptions options);

} // namespace kbopt

#endif // KBOPT_EVAL_JOBCHANNEL_H
